// Invitations: links for mail or SMS, which open a session whenever the applicant presses their button.
import type {
  Invitation,
  InvitationDetail,
  InvitationFilter,
  InvitationsPage,
  InvitationWithUrl,
  NewInvitation,
} from "../models.js";
import { Pages } from "../pages.js";
import type { RequestOptions, Transport } from "../transport.js";

export class Invitations {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Creates an invitation. With `email`, the server mails it. If the response is lost, it is not repeated. */
  async create(invitation: NewInvitation, options?: RequestOptions): Promise<InvitationWithUrl> {
    return (await this.#transport.json("createInvitation", { json: invitation }, options)) as InvitationWithUrl;
  }

  async get(invitationId: string, options?: RequestOptions): Promise<InvitationDetail> {
    return (await this.#transport.json("getInvitation", { path: { invitationId } }, options)) as InvitationDetail;
  }

  /** Invitations, newest first. `before` continues after the page whose `next` it is. */
  list(filter: InvitationFilter = {}, options?: RequestOptions): Pages<Invitation, InvitationsPage> {
    return new Pages<Invitation, InvitationsPage>({
      load: async (before = filter.before ?? undefined) =>
        (await this.#transport.json("listInvitations", { query: { ...filter, before } }, options)) as InvitationsPage,
      items: (page) => page.invitations,
      next: (page) => page.next,
    });
  }

  /** Counts a reminder and returns a further link. With an address, the server also mails it. */
  async remind(invitationId: string, options?: RequestOptions): Promise<InvitationWithUrl> {
    return (await this.#transport.json("remindInvitation", { path: { invitationId } }, options)) as InvitationWithUrl;
  }

  /** Ends an invitation and its open session. */
  async revoke(invitationId: string, options?: RequestOptions): Promise<InvitationDetail> {
    return (await this.#transport.json("revokeInvitation", { path: { invitationId } }, options)) as InvitationDetail;
  }
}
