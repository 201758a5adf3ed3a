// Types of bonafide.js, which defines the global `Bonafide`.

declare namespace Bonafide {
  /** How it ended: passed or under review; failed for good; left by the person. */
  type Outcome = "done" | "failed" | "cancelled";

  interface Detail {
    /** Ask your server for the result with it; never trust the browser's word. Null when nothing was begun. */
    sessionId: string | null;
    /** `approved`, `pending` (under review), `failed`, or null. */
    status: string | null;
  }

  interface Options {
    /** The link that your server got from `POST /v2/sdk/session/web-sdk-link`. It works once, for ten minutes. */
    url: string;
    /** A window over your page (default), or a visit to the hosted page that comes back to `returnUrl`. */
    mode?: "modal" | "redirect";
    /** Where a redirect comes back to, on an allowed origin; by default this page. It gets `bonafide=done|failed|cancelled` and `sessionId`. */
    returnUrl?: string;
    /** What screen readers call the window. */
    title?: string;
    /** What screen readers call its close button. */
    closeLabel?: string;
    /** Each opening calls exactly one of these, once; modal only. */
    onDone?: (detail: Detail) => void;
    onFailed?: (detail: Detail) => void;
    onCancelled?: (detail: Detail) => void;
  }

  interface Handle {
    /** Closes the window without asking; `onCancelled` is called when there was no outcome. */
    close(): void;
  }

  /** Opens the hosted page. Throws a TypeError when an option is unusable, an Error when a window is open already. */
  function open(options: Options): Handle;
}
