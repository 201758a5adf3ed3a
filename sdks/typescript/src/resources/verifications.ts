// Verifications: data and pictures that your own system collected.
import type { DocumentRequirements, DocumentType, VerificationRequest, VerificationResult } from "../models.js";
import type { IdempotentRequestOptions, RequestOptions, Transport } from "../transport.js";

export class Verifications {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /**
   * Verifies a person. It returns normally if the verification ran, whatever the outcome: check `success`. An error
   * means that nothing was verified or recorded, or that the result is unknown.
   */
  async submit(request: VerificationRequest, options?: IdempotentRequestOptions): Promise<VerificationResult> {
    const result = await this.#transport.json("submitVerification", { form: formOf(request) }, options);
    return result as VerificationResult;
  }

  /** Whether a kind of document needs a picture of its back. `country` is a code or a name. */
  requirements(country: string, docType: DocumentType, options?: RequestOptions): Promise<DocumentRequirements> {
    return this.#transport.json("getDocumentRequirements", { query: { country, docType } }, options);
  }
}

function formOf(request: VerificationRequest): FormData {
  const form = new FormData();
  for (const [name, value] of Object.entries(request)) {
    if (value === undefined || value === null) continue;
    if (Array.isArray(value)) {
      form.append(name, value.join(","));
    } else if (ArrayBuffer.isView(value)) {
      // A copy, because the caller may change the bytes before a retry.
      form.append(name, new Blob([new Uint8Array(value)]), name);
    } else if (isBlob(value)) {
      form.append(name, value, name);
    } else if (typeof value === "object") {
      throw new TypeError(`${name} must be a Blob or bytes, such as await fileFromPath("${name}.jpg")`);
    } else {
      form.append(name, String(value));
    }
  }
  return form;
}

/** Whether a value is a Blob, also one of another realm, as in Jest. */
function isBlob(value: unknown): value is Blob {
  return ["[object Blob]", "[object File]"].includes(Object.prototype.toString.call(value));
}
