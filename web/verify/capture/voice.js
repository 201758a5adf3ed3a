/** Speaks the steps of the assisted challenge, where the browser has a voice for the language. It can be switched off. */

/** Whether the browser has a voice for the language. @param {string} language */
export function hasVoice(language) {
  try {
    return speechSynthesis.getVoices().some(({ lang }) => lang.toLowerCase().startsWith(language));
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
      spoken.lang = language;
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
