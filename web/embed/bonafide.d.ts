// Types of bonafide.js, which defines the global `Bonafide`.

declare namespace Bonafide {
  /** How the visit ended: passed or under review; finally failed; left by the applicant. */
  type Outcome = "done" | "failed" | "cancelled";

  interface Detail {
    /** Use it to query the result from your server; never trust the browser. Null if no session was started. */
    sessionId: string | null;
    /** `approved`, `pending` (under review), `failed`, or null. */
    status: string | null;
  }

  interface Options {
    /** The link that your server received from `POST /v2/sdk/session/web-sdk-link`. It works once, for ten minutes. */
    url: string;
    /** A window over your page (default), or a redirect to the hosted page that returns to `returnUrl`. */
    mode?: "modal" | "redirect";
    /** The URL to which a redirect returns, on an allowed origin; by default this page. It receives `bonafide=done|failed|cancelled` and `sessionId`. */
    returnUrl?: string;
    /** Name of the window for screen readers. */
    title?: string;
    /** Name of the close button for screen readers. */
    closeLabel?: string;
    /** Modal only: each opening calls exactly one of these, once. */
    onDone?: (detail: Detail) => void;
    onFailed?: (detail: Detail) => void;
    onCancelled?: (detail: Detail) => void;
  }

  interface Handle {
    /** Closes the window without confirmation. Calls `onCancelled` if there was no outcome. */
    close(): void;
  }

  /** Opens the hosted page. Throws a TypeError for an invalid option and an Error if a window is already open. */
  function open(options: Options): Handle;
}
