// Groups: named collections of Flows, and the scope in which one face registers once.
import type { Group, GroupChanges, NewGroup } from "../models.js";
import type { IdempotentRequestOptions, RequestOptions, Transport } from "../transport.js";

export class Groups {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** All Groups of the account, newest first. */
  async list(options?: RequestOptions): Promise<Group[]> {
    return (await this.#transport.json("listGroups", {}, options)).groups as Group[];
  }

  /** Creates a Group. Ids of Flows that are not yours are ignored, so check `flows`. */
  async create(group: NewGroup, options?: IdempotentRequestOptions): Promise<Group> {
    return (await this.#transport.json("createGroup", { json: group }, options)) as Group;
  }

  async get(groupId: string, options?: RequestOptions): Promise<Group> {
    return (await this.#transport.json("getGroup", { path: { groupId } }, options)) as Group;
  }

  /** Changes a Group. `flowIds` replaces the whole list. */
  async update(groupId: string, changes: GroupChanges, options?: RequestOptions): Promise<Group> {
    return (await this.#transport.json("updateGroup", { path: { groupId }, json: changes }, options)) as Group;
  }

  /** Deletes a Group. Its Flows remain. */
  async delete(groupId: string, options?: RequestOptions): Promise<void> {
    await this.#transport.json("deleteGroup", { path: { groupId } }, options);
  }
}
