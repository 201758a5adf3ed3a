// What the apps of both frameworks share: the link of the address, and a log that the tests read.
import type { Callbacks } from "./open-bonafide";

declare global {
  interface Window {
    /** Renders again, with functions that log this number. */
    rerender: (count: number) => void;
    /** Mounts or unmounts the component that uses the wrapper. */
    show: (isShown: boolean) => void;
  }
}

export const params = () => new URLSearchParams(location.hash.slice(1));
export const link = () => params().get("link") ?? "";
/** Whether the component opens the window when it is mounted. */
export const isAutomatic = () => params().has("automatic");

function write(text: string) {
  document.querySelector("#log")?.append(`${text}\n`);
}

/** Functions that log their calls, with the number of the rendering that they belong to. */
export const logging = (count: () => number): Callbacks => ({
  title: "Identity",
  onReady: () => write(`ready ${count()}`),
  onStep: ({ step }) => write(`step ${step}`),
  onDone: (detail) => write(`done ${count()} ${JSON.stringify(detail)}`),
  onFailed: (detail) => write(`failed ${count()} ${JSON.stringify(detail)}`),
  onCancelled: (detail) => write(`cancelled ${count()} ${JSON.stringify(detail)}`),
  onError: (error) => write(`error ${count()} ${error.name} ${error.code}`),
});
