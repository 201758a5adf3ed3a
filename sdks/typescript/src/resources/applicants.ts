// Applicant look-up: what is recorded about a person. A key with permissions also erases and exports people.
import type {
  ApplicantFilter,
  ApplicantRecord,
  ApplicantsPage,
  ErasedPerson,
  ListedApplicant,
  ResolvedApplicant,
} from "../models.js";
import { Pages } from "../pages.js";
import type { RequestOptions, Transport } from "../transport.js";

export class Applicants {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Resolves your own id of a person to facemap ids. It throws `NotFoundError` if there is no such applicant. */
  async resolve(externalUserId: string, options?: RequestOptions): Promise<ResolvedApplicant> {
    // The variant with a query takes every id; in a path, `.` and `..` would name something else.
    const input = { query: { externalUserId } };
    return (await this.#transport.json("findApplicantByExternalUserId", input, options)) as ResolvedApplicant;
  }

  /** Applicants, newest first: one entry for each person and Group. `name` searches whole words. */
  list(filter: ApplicantFilter = {}, options?: RequestOptions): Pages<ListedApplicant, ApplicantsPage> {
    return new Pages<ListedApplicant, ApplicantsPage>({
      load: async (before = filter.before ?? undefined) =>
        (await this.#transport.json("listApplicants", { query: { ...filter, before } }, options)) as ApplicantsPage,
      items: (page) => page.applicants,
      next: (page) => page.next,
    });
  }

  /** Everything recorded about a person. */
  async get(facemapId: string, options?: RequestOptions): Promise<ApplicantRecord> {
    const input = { path: { facemapId } };
    return (await this.#transport.json("getApplicantByFacemapId", input, options)) as ApplicantRecord;
  }

  /** Erases a person and all of their data, permanently. `reviewerId` is responsible; the key needs the permission `erase`. */
  async erase(facemapId: string, reviewerId: string, options?: RequestOptions): Promise<ErasedPerson> {
    return await this.#transport.json("eraseApplicant", { path: { facemapId }, json: { reviewerId } }, options);
  }

  /** All data about a person as a ZIP file. `reviewerId` is responsible; the key needs the permission `export`. */
  async export(facemapId: string, reviewerId: string, options?: RequestOptions): Promise<ArrayBuffer> {
    return await this.#transport.bytes("exportApplicant", { path: { facemapId }, json: { reviewerId } }, options);
  }
}
