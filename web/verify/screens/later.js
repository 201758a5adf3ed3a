// The screens after the first one. They load while the person reads the first one (loading.js).
export { render as claim, renderNumber as number } from "./claim.js";
export { render as details } from "./details.js";
export { render as device } from "./device.js";
export { render as document } from "./document.js";
export { render as elsewhere } from "./elsewhere.js";
export { render as outcome } from "./outcome.js";
export { renderSide } from "./picture.js";
export { render as upload, renderRetry as retry } from "./upload.js";
