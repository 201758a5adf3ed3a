// The version of this package, which the header User-Agent states. A test compares it with package.json.
export const VERSION = "0.1.0";
