/** Speaks the steps of the assisted challenge, where the browser has a voice for the language. It can be switched off. */

/** The tags of voices, where they differ from the page's. @type {Record<string, string>} */
const TAGS = { pt: "pt-BR", "zh-Hans": "zh-CN", "zh-Hant": "zh-TW" };

/** @param {string} language */
const tagOf = (language) => TAGS[language] ?? language;

/** Whether the browser has a voice for the language. @param {string} language */
export function hasVoice(language) {
  try {
    // Android writes pt_BR.
    const tag = tagOf(language).toLowerCase();
    return speechSynthesis.getVoices().some(({ lang }) => `${lang.replaceAll("_", "-").toLowerCase()}-`.startsWith(`${tag}-`));
  } catch {
    return false;
  }
}

/** @param {string} language */
export function createVoice(language) {
  let isOn = true;
  const stop = () => {
    if ("speechSynthesis" in window) speechSynthesis.cancel();
  };
  return {
    /** @param {string} text */
    say(text) {
      if (!isOn || !hasVoice(language)) return;
      stop();
      const spoken = new SpeechSynthesisUtterance(text);
      spoken.lang = tagOf(language);
      speechSynthesis.speak(spoken);
    },
    /** @param {boolean} on */
    turn(on) {
      isOn = on;
      if (!on) stop();
    },
    stop,
  };
}
