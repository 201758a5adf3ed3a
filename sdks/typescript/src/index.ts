// The public parts of the package.
export { Bonafide } from "./client.js";
export {
  ApiError,
  AuthenticationError,
  BonafideError,
  ConflictError,
  ConnectionError,
  InvalidRequestError,
  NotFoundError,
  PermissionError,
  RateLimitError,
  ServerError,
  TimeoutError,
  WebhookVerificationError,
  type Fault,
  type WebhookFailure,
} from "./errors.js";
export type * from "./models.js";
export type { Pages } from "./pages.js";
export type { WaitOptions } from "./resources/sessions.js";
export type { ClientOptions, IdempotentRequestOptions, Operation, RequestOptions, ResponseInfo } from "./transport.js";
export {
  verifyWebhook,
  type TestEvent,
  type VerificationEvent,
  type VerificationEventData,
  type VerifyWebhookOptions,
  type WebhookEvent,
  type WebhookHeaders,
} from "./webhooks.js";
export { VERSION } from "./version.js";
