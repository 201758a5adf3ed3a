// Flows: configurations of a verification. They are created in the portal or by the operator, not by the API.
import type { components } from "../generated/openapi.js";
import type { Flow, FlowChanges } from "../models.js";
import type { RequestOptions, Transport } from "../transport.js";

export class Flows {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** All Flows of the account, newest first. */
  async list(options?: RequestOptions): Promise<Flow[]> {
    return (await this.#transport.json("listFlows", {}, options)).flows.map(decoded);
  }

  async get(flowId: string, options?: RequestOptions): Promise<Flow> {
    return decoded(await this.#transport.json("getFlow", { path: { flowId } }, options));
  }

  /** Changes a Flow. A member that you send replaces the stored one; others are unchanged. */
  async update(flowId: string, changes: FlowChanges, options?: RequestOptions): Promise<Flow> {
    return decoded(await this.#transport.json("updateFlow", { path: { flowId }, json: changes }, options));
  }

  /** Deletes a Flow permanently. It leaves every Group. */
  async delete(flowId: string, options?: RequestOptions): Promise<void> {
    await this.#transport.json("deleteFlow", { path: { flowId } }, options);
  }
}

function decoded(flow: components["schemas"]["FlowBody"]): Flow {
  return {
    ...flow,
    defaultFields: JSON.parse(flow.defaultFields),
    defaultDocumentTypes: JSON.parse(flow.defaultDocumentTypes),
    countryOverrides: JSON.parse(flow.countryOverrides),
    geoBlockedCountries: JSON.parse(flow.geoBlockedCountries),
  };
}
