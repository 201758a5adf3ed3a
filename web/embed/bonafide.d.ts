// Types of bonafide.js, which defines the global `Bonafide`.

declare namespace Bonafide {
  /** How the visit ended: passed or under review; finally failed; left by the applicant. */
  type Outcome = "done" | "failed" | "cancelled";

  interface Detail {
    /** Use it to query the result from your server; never trust the browser. Null if no session was started. */
    sessionId: string | null;
    /** `approved`, `pending` (under review), `failed`, `expired`, or null. */
    status: string | null;
  }

  interface Result extends Detail {
    outcome: Outcome;
  }

  /**
   * A screen of the hosted page. Which screens appear, and in which order, depends on the Flow and the device.
   * - `open`: the first screen, with the consent
   * - `consent`: the consent alone, if it could not be recorded before
   * - `device`: the choice to continue on a phone
   * - `claim`, `number`: the page on that phone, and the number that connects the two devices
   * - `details`: the applicant's details
   * - `document`: the choice of a document
   * - `front`, `back`, `selfie`: the pictures
   * - `upload`, `retry`: the submission, and its repetition after a failed connection
   * - `outcome`: the result
   * - `end`: another end, such as an expired session
   * - `elsewhere`: the session continues in another window
   */
  type Step =
    | "open"
    | "claim"
    | "number"
    | "consent"
    | "device"
    | "details"
    | "document"
    | "front"
    | "back"
    | "selfie"
    | "upload"
    | "retry"
    | "outcome"
    | "end"
    | "elsewhere";

  interface StepDetail {
    step: Step;
    /** The number that the progress bar shows, from 1; null on screens without it. */
    n: number | null;
    /** The number of steps in the progress bar; null on screens without it. */
    total: number | null;
  }

  /**
   * Why the page cannot continue in this window.
   * - `origin_not_allowed`: the page's origin is not among the merchant's `allowedOrigins`
   * - `link_invalid`: the URL has no valid token
   * - `link_used`: the link was used before, in another browser or for a session that has ended
   * - `link_expired`: the link or the invitation has expired
   * - `invitation_finished`: the invitation already led to an outcome
   * - `invitation_revoked`: the invitation was revoked
   * - `unavailable`: the page could not load its data, and the applicant closed it instead of trying again
   * - `not_loaded`: no hosted page loaded, for example because the server is unreachable or a
   *   Content-Security-Policy blocks it
   */
  type ErrorCode =
    | "origin_not_allowed"
    | "link_invalid"
    | "link_used"
    | "link_expired"
    | "invitation_finished"
    | "invitation_revoked"
    | "unavailable"
    | "not_loaded";

  /** An `Error` whose `message` is in English and for developers. It contains no personal data. */
  interface BonafideError extends Error {
    name: "BonafideError";
    code: ErrorCode;
  }

  interface Options {
    /** The link that your server received from `POST /v2/sdk/session/web-sdk-link`. It works once, for ten minutes. */
    url: string;
    /** A window over your page (default), or a redirect to the hosted page that returns to `returnUrl`. */
    mode?: "modal" | "redirect";
    /** Redirect only: the URL to return to, on an allowed origin; by default this page. It receives `bonafide=done|failed|cancelled` and `sessionId`. */
    returnUrl?: string;
    /** Name of the window for screen readers. */
    title?: string;
    /** Name, for screen readers, of the close button that is shown until the hosted page shows its own. */
    closeLabel?: string;
    /** Modal only: the hosted page runs in the window. Called at most once, before any `onStep`. */
    onReady?: () => void;
    /** Modal only: the hosted page shows a new screen. Use it for statistics; an outcome has its own callback. */
    onStep?: (detail: StepDetail) => void;
    /** Modal only: each opening calls exactly one of the following four, once. */
    onDone?: (detail: Detail) => void;
    onFailed?: (detail: Detail) => void;
    onCancelled?: (detail: Detail) => void;
    /**
     * The page cannot continue in this window. The error is also written to the console. The window stays open,
     * because it states what the applicant can do; after an error, no callback is called.
     */
    onError?: (error: BonafideError) => void;
  }

  interface Handle {
    /** Closes the window without confirmation. Calls `onCancelled` if there was neither an outcome nor an error. */
    close(): void;
    /**
     * Resolves when the outcome is known, while the window may still be open. Rejects with the error that
     * `onError` receives; a rejection without a handler is not reported as unhandled. Modal only: after a
     * redirect it never settles, because the browser leaves this page.
     */
    readonly result: Promise<Result>;
  }

  /** Opens the hosted page. Throws a TypeError for an invalid option and an Error if a window is already open. */
  function open(options: Options): Handle;
}
