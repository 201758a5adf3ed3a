// One picture: instructions, camera or file, and the review of the result. If the camera does not work, there
// is always another way. The selfie of a Flow with a live selfie or liveness is screens/challenge.js.
import * as app from "../app.js";
import { actions, announce, button, h, heading, icon, lead, note, rows } from "../dom.js";
import { track } from "../events.js";
import * as flow from "../flow.js";
import { countryName, has, size, t } from "../i18n.js";
import { documentExample, selfieExample } from "../illustrations.js";
import { inspect } from "../pdf.js";
import * as reading from "../reading.js";
import * as router from "../router.js";
import * as challenge from "./challenge.js";
import { trackSupport, trouble } from "./trouble.js";

/** How often a poor picture is rejected. After that, the applicant may use it. */
const REFUSALS = 2;
/** The document is of another country than chosen. */
const OTHER_COUNTRY = 2508;
const EXPIRED = 2509;
/** The two sides are not of one document. */
const OTHER_SIDES = [2505, 2506];
/** Codes that another document may correct. */
const ANOTHER_DOCUMENT = [2404, OTHER_COUNTRY, EXPIRED];
/** Codes for a document of another type or country than chosen. */
const OTHER_KINDS = [2404, OTHER_COUNTRY];
/** Problems because of which little of a document can be read. */
const UNCLEAR = ["blurry", "too_dark", "too_bright", "cut_off", "closer", "glare"];
const MAX_PDF_BYTES = 10 * 1024 * 1024;
const IMAGES = "image/jpeg,image/png,image/webp,image/bmp";

const capture = () => import("../capture/index.js");

/** Whether the last picture of this visit was taken with the camera, which then worked. */
let isCameraUsed = false;
export const hasCamera = () => isCameraUsed;

/** @param {flow.Side} side @returns {router.Render} */
export const renderSide = (side) => (part, params) => {
  if (side === "selfie" && challenge.isRequired()) return challenge.render(part, params);
  if (part === "camera") return camera(side);
  if (part === "trouble") return troubleWithFiles(side, params?.code ?? "no_camera");
  if (app.currentWork().pictures[side]) return review(side);
  return primer(side, part === "file", Boolean(params?.opens));
};

/** @param {flow.Side} side */
const kindOf = (side) => (side === "selfie" ? "selfie" : "document");

/** Whether the Flow requires the camera. @param {flow.Side} side */
const wantsCamera = (side) => side !== "selfie" && app.facts().current.documentUploadType === "fileCapture";

/** @param {flow.Side} side */
const title = (side) => t(side === "selfie" ? "picture.selfie" : `picture.${side}.${app.currentWork().type}`);

/** @param {flow.Side} side @param {boolean} asFile @param {boolean} opens whether the camera opens at once @returns {Promise<router.Screen>} */
async function primer(side, asFile, opens) {
  const isSelfie = side === "selfie";
  // Phones lead with the camera, whatever the Flow permits.
  let live = !asFile && (wantsCamera(side) || !app.facts().desktop);
  track(isSelfie ? "selfie" : side, "reached");
  if (live) {
    const { cameraSupport } = await import("../capture/camera.js");
    const support = await cameraSupport();
    if (!support.ok && wantsCamera(side)) {
      trackSupport(support.reason);
      return troubleWithFiles(side, support.reason ?? "no_camera");
    }
    live = support.ok;
    // Loads while the applicant reads.
    if (live) setTimeout(capture, 300);
  }
  const problem = h("div", { class: "problem" });
  const pick = chooser(side, problem);
  /** @type {[string, string][]} */
  const tips = isSelfie
    ? [["face", t("picture.tip.face")], ["person", t("picture.tip.cover")], ["sun", t("picture.tip.facelight")]]
    : live
      ? [["card", t("picture.tip.surface")], ["corners", t("picture.tip.corners")], ["sun", t("picture.tip.light")]]
      : [["file", t("picture.tip.file")], ["corners", t("picture.tip.corners")]];
  const openCamera = () => router.show(side, { part: "camera" });
  const oneSided = side === "back" && flow.chosenType(app.facts(), app.currentWork())?.hasOneSidedVariant;
  return {
    body: [
      isSelfie ? selfieExample() : documentExample(app.currentWork().type, side),
      heading(title(side)),
      rows(tips),
      live ? null : pick.drop,
      problem,
      actions(
        live ? h("p", { class: "fine" }, t("picture.ask")) : h("p", { class: "fine only-touch" }, t(isSelfie ? "picture.formats.photo" : "picture.formats")),
        live ? button("primary", t("picture.camera"), openCamera, "camera") : button("primary", t(isSelfie ? "picture.photo" : "picture.file"), pick.open, "file"),
        live ? button("plain", t("picture.usefile"), pick.open) : button("plain", t("picture.usecamera"), openCamera),
        oneSided
          ? button("plain", t("picture.noback"), () => {
              app.currentWork().noBack = true;
              track("back", "completed");
              app.next();
            })
          : null,
      ),
      pick.input,
    ],
    shown: () => opens && live && openCamera(),
  };
}

/**
 * Choosing a file, by a button or by dropping it.
 * @param {flow.Side} side @param {HTMLElement} problem
 * @param {"user" | "environment"} [withApp] opens the phone's own camera app
 */
function chooser(side, problem, withApp) {
  const isSelfie = side === "selfie";
  const input = h("input", { type: "file", accept: isSelfie || withApp ? IMAGES : `${IMAGES},application/pdf`, capture: withApp, class: "quiet", tabindex: "-1", "aria-hidden": "true" });
  /** @param {File} file */
  const take = async (file) => {
    problem.replaceChildren(h("p", { class: "status" }, h("span", { class: "spinner" }), t("picture.reading")));
    try {
      await accept(side, file);
      router.redraw(true);
    } catch (error) {
      const code = /** @type {any} */ (error).code;
      const text = has(`file.${code}`) ? t(`file.${code}`) : t("file.unreadable");
      problem.replaceChildren(note("bad", text));
      problem.scrollIntoView({ block: "center" });
      announce(text);
    }
    input.value = "";
  };
  input.addEventListener("change", () => input.files?.[0] && take(input.files[0]));
  const drop = h("div", { class: "drop" }, icon("file"), h("p", null, t(isSelfie ? "picture.formats.photo" : "picture.formats")), h("p", { class: "fine" }, t("picture.drop")));
  drop.addEventListener("dragover", (event) => {
    event.preventDefault();
    drop.classList.add("over");
  });
  drop.addEventListener("dragleave", () => drop.classList.remove("over"));
  drop.addEventListener("drop", (event) => {
    event.preventDefault();
    drop.classList.remove("over");
    const file = event.dataTransfer?.files[0];
    if (file) take(file);
  });
  drop.addEventListener("click", () => input.click());
  return { input, drop, open: () => input.click() };
}

/** A chosen file that cannot be used. @param {string} code */
const refusal = (code) => Object.assign(new Error(code), { code });

/** @param {flow.Side} side @param {File} file */
async function accept(side, file) {
  const isPdf = (await file.slice(0, 1024).text()).includes("%PDF-");
  if (isPdf && side === "selfie") throw refusal("not_pdf");
  if (isPdf && file.size > MAX_PDF_BYTES) throw refusal("pdf_too_large");
  if (isPdf && (await inspect(file)).locked) throw refusal("locked");
  isCameraUsed = false;
  const { prepareFile } = await capture();
  const shot = await prepareFile(file, kindOf(side));
  // Stored as bytes, because the file may be unavailable after a reload.
  const blob = isPdf ? new Blob([await file.arrayBuffer()], { type: "application/pdf" }) : shot.blob;
  await keep(side, { blob, problems: shot.problems, source: "file" }, file.name);
}

/** @param {flow.Side} side @param {{blob: Blob, problems: string[], source: "camera" | "file"}} shot @param {string} name */
async function keep(side, { blob, problems, source }, name) {
  const work = app.currentWork();
  if (problems.length) work.doubts[side] = (work.doubts[side] ?? 0) + 1;
  work.pictures[side] = { blob, name, problems, source, accepted: false };
  work.key = "";
  await app.saveNow();
}

/** @param {flow.Side} side @returns {router.Screen} */
function camera(side) {
  const isSelfie = side === "selfie";
  const host = h("div", { class: "camera" });
  const ended = new AbortController();
  const { type } = app.currentWork();
  /** @param {string} part @param {any} [params] */
  const instead = (part, params) => router.show(side, { part, params, replace: true });
  const run = async () => {
    try {
      const { openCapture } = await capture();
      const shot = await openCapture(host, {
        kind: kindOf(side),
        shape: type === "PASSPORT" ? "passport" : "card",
        side: isSelfie ? "front" : side,
        facing: isSelfie ? "user" : "environment",
        t,
        onEvent: (kind, detail) => track("camera", kind, detail),
        signal: ended.signal,
      });
      if (ended.signal.aborted) return;
      isCameraUsed = true;
      await keep(side, shot, "");
      // Returns to the screen that opened the camera, which shows the picture.
      history.back();
    } catch (error) {
      if (ended.signal.aborted) return;
      isCameraUsed = false;
      const code = /** @type {any} */ (error).code;
      if (code === "cancelled") history.back();
      else if (code === "use_file") instead("file");
      else instead("trouble", { code: code ?? "unsupported" });
    }
  };
  return { body: [h("h1", { class: "quiet", tabindex: "-1" }, title(side)), host], shown: run, cleanup: () => ended.abort() };
}

/** Help for a camera that does not work. @param {flow.Side} side @param {string} code */
function troubleWithFiles(side, code) {
  const problem = h("div", { class: "problem" });
  const photo = chooser(side, problem, side === "selfie" ? "user" : "environment");
  return trouble(side, code, { photo, file: chooser(side, problem), problem });
}

/** @param {flow.Side} side @returns {Promise<router.Screen>} */
async function review(side) {
  const work = app.currentWork();
  const picture = /** @type {flow.Picture} */ (work.pictures[side]);
  const { codes = [] } = picture.reading ?? {};
  const problemsOfPicture = [...new Set([...reading.problems(picture), ...picture.problems])];
  const isPdf = picture.blob.type === "application/pdf";
  const isSelfie = side === "selfie";
  const doubts = problemsOfPicture.length || codes.length ? (work.doubts[side] ?? 0) : 0;
  const isRefused = doubts > 0 && doubts <= REFUSALS && !reading.isSoft(picture);
  const pages = isPdf ? await inspect(picture.blob) : null;
  /** @type {string[]} */
  const urls = [];
  /** @param {Blob} blob */
  const url = (blob) => {
    const made = URL.createObjectURL(blob);
    urls.push(made);
    return made;
  };
  let isShown = true;
  /** The chosen page of a PDF. @type {Blob | null} */
  let page = null;

  const status = h("div", { class: "problem", role: "status" });
  /**
   * Has the picture read, unless it was. Returns whether to go on: the session is not over, and nothing new is to correct,
   * which this shows.
   */
  const isRead = async () => {
    if (!reading.isDue(side, picture)) return true;
    status.replaceChildren(h("p", { class: "status" }, h("span", { class: "spinner" }), t("picture.reading")));
    // The person may choose another page of a PDF meanwhile.
    while (reading.isDue(side, picture)) {
      const goesOn = await reading.read(side, picture);
      if (!goesOn || !isShown || work.pictures[side] !== picture) return false;
    }
    status.replaceChildren();
    if (reading.isPoor(picture)) await router.redraw(true);
    return !reading.isPoor(picture);
  };
  let isUsed = false;
  const use = async () => {
    if (isUsed) return;
    isUsed = true;
    await proceed();
    isUsed = false;
  };
  const proceed = async () => {
    if (page && page !== picture.blob) {
      picture.blob = page;
      delete picture.reading;
    }
    if (!(await isRead())) return;
    picture.accepted = true;
    if (flow.isLast(app.facts(), work, side)) work.ready = true;
    track("review", "completed");
    track(side, "completed");
    await app.next();
  };
  const redo = () => {
    track("review", "retried", codes[0]?.toString() ?? problemsOfPicture[0]);
    flow.drop(app.facts(), work, side);
    app.save();
    if (picture.source === "camera") router.show(side, { part: "camera" });
    else router.redraw(true);
  };
  const useText = t(flow.isLast(app.facts(), work, side) ? "review.send" : "review.use");
  const redoText = t(picture.source === "camera" ? "review.redo" : "review.other");
  track("review", "reached");
  // One cause is told once: what the server found, with what may have caused it. If nothing was found in the picture, its
  // other problems are guesses.
  const isWrongSide = problemsOfPicture.includes("wrong_side");
  // Another document cannot be told from a picture that is hardly readable.
  const isUnclear = problemsOfPicture.some((word) => UNCLEAR.includes(word));
  const code = isWrongSide || (isUnclear && OTHER_KINDS.includes(Number(codes[0]))) ? undefined : codes[0];
  // The page may have seen what the server then found.
  const others = problemsOfPicture.filter((word) => !code || !/^\d/.test(word));
  const said = isWrongSide ? ["wrong_side"] : others.slice(0, code || /^no_/.test(others[0] ?? "") ? 1 : 2);
  /** A code that another picture of the same document cannot correct is the title. */
  const title = !isPdf && code && ANOTHER_DOCUMENT.includes(code) ? t(`code.${code}.title`) : "";
  const told = (/** @type {string | number} */ word) => {
    if (!has(`code.${word}.title`)) return h("li", null, has(`problem.${word}`) ? t(`problem.${word}`) : String(word));
    return h("li", null, word === code && title ? null : h("strong", null, t(`code.${word}.title`)), t(`code.${word}.fix`));
  };
  const problems = h("ul", { class: "problems" }, ...[code, ...said].filter((word) => word !== undefined).map(told));
  const otherDocument = !isWrongSide && ANOTHER_DOCUMENT.includes(Number(codes[0])) && !flow.onlyChoice(app.facts(), work);
  const isExpired = code === EXPIRED;
  const chooseDocument = () => {
    flow.reopen(app.facts(), work, ["document", "front", "back"]);
    track("document", "retried", code?.toString());
    app.next();
  };
  /** The country that the document states instead of the chosen one, if its document can be used. */
  const stated = code === OTHER_COUNTRY ? flow.findCountry(app.facts(), picture.reading?.country ?? "") : undefined;
  const canChange = stated && stated.alpha3 !== work.country && flow.typesFor(app.facts(), work, stated.alpha3).some(({ type, supported }) => supported && type === work.type);
  const changeCountry = () => {
    work.country = stated?.alpha3 ?? work.country;
    // It is read again by the rules of the other country.
    delete picture.reading;
    delete work.doubts[side];
    app.save();
    router.redraw(true);
  };
  const retakeFront = () => {
    flow.reopen(app.facts(), work, ["front", "back"]);
    app.next();
  };
  return {
    body: [
      heading(title || t(isPdf ? (pages && pages.pages.length > 1 ? "review.pdf.pick" : "review.pdf") : isRefused ? "review.bad" : doubts ? "review.doubt" : isSelfie ? "review.selfie" : "review.document")),
      doubts ? note(isRefused ? "bad" : "warn", problems) : lead(t(isPdf ? "review.pdf.lead" : isSelfie ? "review.selfie.lead" : "review.document.lead")),
      status,
      isPdf && pages ? pdfPages(picture, pages, url, (chosen) => (page = chosen)) : zoomable(url(picture.blob), t(`review.alt.${side}`)),
      actions(
        canChange ? button("primary", t("review.country", { country: countryName(stated.alpha2, stated.name) }), changeCountry) : null,
        isExpired && otherDocument ? button("primary", t("review.otherdocument"), chooseDocument) : null,
        doubts ? button(canChange || (isExpired && otherDocument) ? "secondary" : "primary", redoText, redo) : button("primary", useText, use),
        !isExpired && otherDocument ? button("secondary", t("review.otherdocument"), chooseDocument) : null,
        side === "back" && code && OTHER_SIDES.includes(code) ? button("secondary", t(`picture.front.${work.type}`), retakeFront) : null,
        isRefused ? null : doubts ? button("secondary", t("review.anyway"), use) : button("secondary", redoText, redo),
      ),
    ],
    // Of a PDF, the page may still be chosen.
    shown: async () => {
      const isNew = reading.isDue(side, picture);
      if ((pages && pages.pages.length > 1) || !(await isRead())) return;
      // What the camera took and the server could read needs no further look; the entries are confirmed next.
      const isGood = isNew && picture.reading && picture.source === "camera" && !picture.problems.length;
      // Nothing is sent without a press.
      if (isGood && isShown && !flow.isLast(app.facts(), work, side)) await use();
    },
    cleanup: () => {
      isShown = false;
      urls.forEach((made) => URL.revokeObjectURL(made));
    },
  };
}

/** A picture that can be enlarged. @param {string} src @param {string} alt */
export function zoomable(src, alt) {
  const image = h("img", { src, alt });
  const frame = h("div", { class: "shot" }, image);
  const toggle = button("plain", t("review.zoom"), () => {
    const isLarge = frame.classList.toggle("large");
    toggle.lastChild?.replaceWith(t(isLarge ? "review.shrink" : "review.zoom"));
    // Makes it scrollable with the keyboard.
    if (isLarge) {
      frame.tabIndex = 0;
      frame.setAttribute("role", "region");
      frame.setAttribute("aria-label", alt);
      frame.scrollTo({ left: (frame.scrollWidth - frame.clientWidth) / 2, top: (frame.scrollHeight - frame.clientHeight) / 2 });
    } else {
      frame.removeAttribute("tabindex");
      frame.removeAttribute("role");
      frame.removeAttribute("aria-label");
    }
  }, "search");
  toggle.classList.add("zoom");
  image.addEventListener("click", () => toggle.click());
  return h("div", { class: "shot-box" }, frame, toggle);
}

/**
 * @param {flow.Picture} picture @param {import("../pdf.js").Pdf} pdf @param {(blob: Blob) => string} url
 * @param {(page: Blob | null) => void} choose null: the whole PDF
 */
function pdfPages(picture, pdf, url, choose) {
  const info = [picture.name, size(picture.blob.size), pdf.count ? t("review.pages", { count: pdf.count }) : ""].filter(Boolean).join(" · ");
  const file = h("p", { class: "file-name" }, icon("file"), h("bdi", null, info));
  const [only] = pdf.pages;
  if (pdf.pages.length === 1 && only) return h("div", null, zoomable(url(only), t("review.pdf.page", { n: 1 })), file);
  if (!pdf.pages.length) return file;
  /** @param {Blob | null} page @param {string} text @param {boolean} checked */
  const choice = (page, text, checked) =>
    h(
      "label",
      { class: "page" },
      h("input", { type: "radio", name: "page", checked, onchange: () => choose(page) }),
      page ? h("img", { src: url(page), alt: "" }) : icon("file"),
      h("span", null, text),
    );
  return h("div", null, h("div", { class: "pages" }, choice(null, t("review.pdf.all"), true), ...pdf.pages.map((page, i) => choice(page, t("review.pdf.page", { n: i + 1 }), false))), file);
}
