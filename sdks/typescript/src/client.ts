// The client: one resource for each part of the API, over one transport.
import { Applicants } from "./resources/applicants.js";
import { Attempts } from "./resources/attempts.js";
import { Events } from "./resources/events.js";
import { Flows } from "./resources/flows.js";
import { Groups } from "./resources/groups.js";
import { Invitations } from "./resources/invitations.js";
import { Links } from "./resources/links.js";
import { Lists } from "./resources/lists.js";
import { Monitoring } from "./resources/monitoring.js";
import { Screenings } from "./resources/screenings.js";
import { Sessions } from "./resources/sessions.js";
import { Verifications } from "./resources/verifications.js";
import { Transport, type ClientOptions } from "./transport.js";

/** A client of one Bonafide server, for servers only: its secret gives access to your applicants' data. */
export class Bonafide {
  readonly links: Links;
  readonly sessions: Sessions;
  readonly invitations: Invitations;
  readonly verifications: Verifications;
  readonly applicants: Applicants;
  readonly attempts: Attempts;
  readonly screenings: Screenings;
  readonly events: Events;
  readonly monitoring: Monitoring;
  readonly lists: Lists;
  readonly flows: Flows;
  readonly groups: Groups;

  constructor(options: ClientOptions) {
    const transport = new Transport(options);
    this.links = new Links(transport);
    this.sessions = new Sessions(transport);
    this.invitations = new Invitations(transport);
    this.verifications = new Verifications(transport);
    this.applicants = new Applicants(transport);
    this.attempts = new Attempts(transport);
    this.screenings = new Screenings(transport);
    this.events = new Events(transport);
    this.monitoring = new Monitoring(transport);
    this.lists = new Lists(transport);
    this.flows = new Flows(transport);
    this.groups = new Groups(transport);
  }
}
