"""Renders lines of machine-readable zones as phones photograph them. The same seed gives the same lines.

A line is a grey picture HEIGHT pixels high, as `documents` cuts it out of a photograph. Every text is invented.
"""

import io
import math

import numpy as np
from PIL import Image, ImageDraw, ImageFilter, ImageFont

SYMBOLS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789<"
HEIGHT = 32
MAX_WIDTH = 640
# Lines are drawn at this multiple of HEIGHT; the camera reduces them.
SCALE = 2
OCRB = "/usr/share/fonts/opentype/ocr-b/"
DEJAVU = "/usr/share/fonts/truetype/dejavu/"
# (file, share of the lines)
FONTS = [
    (OCRB + "OCRB.otf", 0.57),
    (OCRB + "OCRBS.otf", 0.25),
    (OCRB + "OCRBL.otf", 0.08),
    (DEJAVU + "DejaVuSansMono.ttf", 0.06),
    (DEJAVU + "DejaVuSansMono-Bold.ttf", 0.04),
]
SYLLABLES = (
    "AN ER ON EN IN AR EL IS ES OR AL MA LA SO KO VA NI TA RE LI DE MO JA KA SE PE BE RI TO HA WI GU CH SCH "
    "ST TR KR BR GR FR PL SK MC Z Y X Q J W U O I E A"
).split()
STATES = (
    "UTO D<< GBR USA CAN FRA ESP ITA POL CZE LVA SWE NOR ROU BGR HRV SRB GRC TUR RUS UKR CHN JPN KOR IND BRA "
    "MEX ARG ZAF NGA EGY MAR XXA XXB XXC"
).split()


def digits(r, n):
    return "".join(str(r.integers(10)) for _ in range(n))


def name(r):
    if r.random() < 0.3:  # letters in no usual order
        return "".join(SYMBOLS[r.integers(26)] for _ in range(r.integers(1, 12)))
    return "".join(SYLLABLES[r.integers(len(SYLLABLES))] for _ in range(r.integers(1, 6)))[: int(r.integers(2, 16))]


def filled(text, n):
    return (text + "<" * n)[:n]


def number(r, n=9):
    letters = r.choice([0.0, 0.2, 0.5])
    return filled(
        "".join(
            SYMBOLS[r.integers(36)] if r.random() < letters else str(r.integers(10))
            for _ in range(int(r.integers(6, n + 1)))
        ),
        n,
    )


def sample(r):
    """The text of a line. Check digits are random: the network must not learn them."""
    state = STATES[r.integers(len(STATES))] if r.random() < 0.7 else "".join(SYMBOLS[r.integers(26)] for _ in range(3))
    state = state.ljust(3, "<")
    names = "<".join(name(r) for _ in range(r.integers(1, 3))) + "<<"
    names += "<".join(name(r) for _ in range(r.integers(0, 4)))
    sex = "MF<X"[r.integers(4)]
    kind = r.integers(8)
    if kind == 0:
        return filled("P" + "<PCDMOS"[r.integers(7)] + state + names, 44)
    if kind == 1:
        optional = filled("" if r.random() < 0.4 else number(r, 14), 14)
        check = "<0123456789"[r.integers(11)] + digits(r, 1)
        return number(r) + digits(r, 1) + state + digits(r, 7) + sex + digits(r, 7) + optional + check
    if kind == 2:
        more = "" if r.random() < 0.5 else number(r, 15)
        return filled("IAC"[r.integers(3)] + "<DRV"[r.integers(4)] + state + number(r) + digits(r, 1) + more, 30)
    if kind == 3:
        more = filled("" if r.random() < 0.6 else number(r, 11), 11)
        return digits(r, 7) + sex + digits(r, 7) + state + more + digits(r, 1)
    if kind == 4:
        return filled(names, 30)
    if kind == 5:
        return filled("IV"[r.integers(2)] + "<DR"[r.integers(3)] + state + names, (36, 44)[r.integers(2)])
    n = (30, 36, 44)[r.integers(3)]
    if kind == 6:  # the characters that are confused
        return "".join("0OQD1IL7B8S5Z2G6UVYCEFKXMNHW<"[r.integers(29)] for _ in range(n))
    return "".join(SYMBOLS[r.integers(37)] for _ in range(n))


_fonts = {}


def font(path, size):
    key = (path, size)
    if key not in _fonts:
        _fonts[key] = ImageFont.truetype(path, size)
    return _fonts[key]


def noise_field(r, h, w, cell):
    """Smooth noise, 0 to 1."""
    small = (r.random((h // cell + 2, w // cell + 2)) * 255).astype(np.uint8)
    return np.asarray(Image.fromarray(small).resize((w, h), Image.BICUBIC), np.float32) / 255


def background(r, w, h):
    y, x = np.mgrid[0:h, 0:w].astype(np.float32)
    paper = np.full((h, w), r.uniform(110, 250), np.float32)
    paper += r.uniform(-30, 30) * (x / w - 0.5) + r.uniform(-15, 15) * (y / h - 0.5)
    for _ in range(r.integers(0, 3)):  # guilloches
        f, a, p = r.uniform(0.02, 0.3), r.uniform(2, 14), r.uniform(0, 6.3)
        t = r.uniform(-1.6, 1.6)
        wave = np.sin((x * math.cos(t) + y * math.sin(t)) * f + 3 * np.sin(x * r.uniform(0.005, 0.04) + p))
        paper += a * (wave if r.random() < 0.5 else (wave > 0.7) * -2.0)
    if r.random() < 0.3:
        paper += r.uniform(-40, 40) * (noise_field(r, h, w, int(r.integers(8, 60))) - 0.5)
    return paper


def draw(r, text):
    """The flat line at SCALE, the height of its capitals, and the centre and pitch of each character."""
    h = HEIGHT * SCALE
    capital = h * r.uniform(0.4, 0.74)
    pitch = capital / 0.945 * r.uniform(0.94, 1.12)
    left = pitch * (r.uniform(0.1, 1.4) if r.random() < 0.8 else r.uniform(-0.3, 4))
    right = pitch * (r.uniform(0.1, 1.4) if r.random() < 0.8 else r.uniform(-0.3, 4))
    w = int(pitch * len(text) + left + right)
    path = FONTS[r.choice(len(FONTS), p=[share for _, share in FONTS])][0]
    other_font = path.startswith(DEJAVU)
    f = font(path, max(8, int(capital * 1.38)))
    ink = Image.new("L", (w, h), 0)
    d = ImageDraw.Draw(ink)
    base = h / 2 + capital / 2 + r.normal(0, 0.035) * h
    slope, bow = r.normal(0, 0.004), r.normal(0, 0.02) * h
    row = pitch * 2.5 * r.uniform(0.9, 1.1)
    near = r.integers(4)
    beside = r.random() < 0.12
    for i in range(-4 if beside else 0, len(text) + (4 if beside else 0)):
        x = left + (i + 0.5) * pitch
        u = x / w - 0.5
        y = base + slope * (x - w / 2) + bow * (4 * u * u - 0.5)
        if 0 <= i < len(text):
            dx = r.normal(0, 0.015) * pitch
            d.text((x + dx, y), text[i], fill=255, font=f, anchor="ms")
        elif not -1 <= i <= len(text):  # further print, apart by more than a pitch
            d.text((x, y), SYMBOLS[r.integers(37)], fill=255, font=f, anchor="ms")
        for side, on in ((-1, near & 1), (1, near & 2)):  # the rows above and below reach into the picture
            if on:
                d.text((x, y + side * row), SYMBOLS[(i * 7 + len(text)) % 37], fill=255, font=f, anchor="ms")
    weight = r.random()
    if weight < 0.15:
        ink = ink.filter(ImageFilter.MaxFilter(3))
    elif weight < 0.25 and not other_font:
        ink = ink.filter(ImageFilter.MinFilter(3))
    mask = np.asarray(ink, np.float32) / 255
    if r.random() < 0.12:  # halftone
        y, x = np.mgrid[0:h, 0:w]
        p = r.uniform(3, 7)
        mask = mask * (0.65 + 0.35 * (np.sin(x * 6.28 / p) * np.sin(y * 6.28 / p) > -0.3))
    if r.random() < 0.2:  # worn
        mask = mask * np.clip(noise_field(r, h, w, 8) * r.uniform(0.3, 0.9) + 0.5, 0, 1)
    paper = background(r, w, h)
    dark = r.uniform(0, 120)
    mask = np.clip(mask, 0, 1)
    page = paper * (1 - mask) + np.minimum(dark, paper - 22) * mask
    centres = left + (np.arange(len(text)) + 0.5) * pitch
    return page, capital, centres, pitch


def motion(page, length, angle):
    n = max(2, int(length))
    out = np.zeros_like(page)
    for i in range(n):
        s = (i / (n - 1) - 0.5) * length
        out += shifted(page, s * math.cos(angle), s * math.sin(angle))
    return out / n


def shifted(page, dx, dy):
    """The page moved by a fraction of pixels, its edges repeated."""
    h, w = page.shape
    x0, y0 = math.floor(dx), math.floor(dy)
    fx, fy = dx - x0, dy - y0
    rows = np.clip(np.arange(h) + y0, 0, h - 1), np.clip(np.arange(h) + y0 + 1, 0, h - 1)
    cols = np.clip(np.arange(w) + x0, 0, w - 1), np.clip(np.arange(w) + x0 + 1, 0, w - 1)
    page = page[rows[0]] * (1 - fy) + page[rows[1]] * fy
    return page[:, cols[0]] * (1 - fx) + page[:, cols[1]] * fx


def spots(r, page, unit):
    """Glare, or a finger or stain: nothing can be read under them."""
    h, w = page.shape
    y, x = np.mgrid[0:h, 0:w].astype(np.float32)
    for _ in range(r.integers(1, 3)):
        a, b = unit * r.uniform(0.3, 2.2), unit * r.uniform(0.3, 1.6)
        d = np.hypot((x - r.uniform(0, w)) / a, (y - r.uniform(0, h)) / b)
        cover = np.clip((1.0 - d) * r.uniform(1.2, 6) + 0.5, 0, 1) * r.uniform(0.6, 1)
        colour = r.choice([255.0, 255.0, r.uniform(20, 200)])
        page = page * (1 - cover) + colour * cover
    return page


def photograph(r, page, capital, centres, pitch):
    """The camera: perspective, blur and shaking in units of the capitals' height, glare, noise, JPEG."""
    h, w = page.shape
    unit = capital / 24
    if r.random() < 0.14:
        page = spots(r, page, capital)
    blur = r.random()
    if blur < 0.3:
        image = Image.fromarray(np.clip(page, 0, 255).astype(np.uint8))
        page = np.asarray(image.filter(ImageFilter.GaussianBlur(float(r.uniform(0.3, 4.6) * unit))), np.float32)
    elif blur < 0.55:
        page = motion(page, r.uniform(2, 15) * unit, r.uniform(0, 3.15))
    if r.random() < 0.35:  # small print, enlarged again
        s = r.uniform(6.5, 16) / capital
        how = Image.BILINEAR if r.random() < 0.5 else Image.BOX
        small = Image.fromarray(page).resize((max(8, int(w * s)), max(6, int(h * s))), how)
        if r.random() < 0.5:
            grain = r.normal(0, r.uniform(1, 10), (small.height, small.width)).astype(np.float32)
            small = Image.fromarray(np.asarray(small) + grain)
        page = np.asarray(small.resize((w, h), Image.BICUBIC))
    page = np.array(page, np.float32)
    if r.random() < 0.15:  # a shadow's edge
        x0, lean = r.uniform(0, w), r.normal(0, 1)
        y, x = np.mgrid[0:h, 0:w].astype(np.float32)
        page *= 1 - r.uniform(0.2, 0.6) * np.clip((x - x0 + lean * y) / r.uniform(1, 30) * r.choice([-1, 1]), 0, 1)
    page = (page - 128) * r.uniform(0.45, 1.1) + 128 + r.uniform(-45, 40)
    # The final width: the pitch varies along the line by perspective, and the whole by the way of cutting out.
    squeeze = r.uniform(0.54, 0.74)
    width = int(np.clip(w / SCALE * squeeze, 64, MAX_WIDTH))
    bend = float(np.clip(r.normal(0, 0.06), -0.15, 0.15))
    lean, shear = r.normal(0, 0.06), r.normal(0, 0.02)
    ys = (np.arange(HEIGHT) + 0.5) / HEIGHT
    xs = (np.arange(width) + 0.5) / width
    warped = xs + bend * xs * (1 - xs)
    # A box filter along both axes first, so that reducing does not alias.
    image = Image.fromarray(page).resize((width * 2, HEIGHT * 2), Image.BOX if r.random() < 0.5 else Image.BILINEAR)
    page = np.asarray(image, np.float32)
    px = warped[None, :] * width * 2 + (lean * (ys[:, None] - 0.5)) * HEIGHT * 2
    py = (ys[:, None] + shear * (xs[None, :] - 0.5)) * HEIGHT * 2
    page = sampled(page, px - 0.5, py - 0.5)
    page += r.normal(0, r.uniform(0.5, 14), page.shape)
    image = Image.fromarray(np.clip(page, 0, 255).astype(np.uint8))
    if r.random() < 0.5:
        f = io.BytesIO()
        image.save(f, "JPEG", quality=int(r.integers(12, 92)))
        image = Image.open(f)
    places = np.interp(centres / w, warped, xs * width)
    # np.interp repeats its ends; outside the picture a character has no place.
    places = np.where((centres < 0) | (centres > w), -100, places)
    return np.asarray(image, np.uint8), places, pitch / w * width


def sampled(page, x, y):
    h, w = page.shape
    x, y = np.clip(x, 0, w - 1.001), np.clip(y, 0, h - 1.001)
    i, j = x.astype(int), y.astype(int)
    fx, fy = (x - i).astype(np.float32), (y - j).astype(np.float32)
    top = page[j, i] * (1 - fx) + page[j, i + 1] * fx
    below = page[j + 1, i] * (1 - fx) + page[j + 1, i + 1] * fx
    return top * (1 - fy) + below * fy


def line(seed):
    """A picture, its text, the place of each character, and the pitch in pixels."""
    r = np.random.default_rng(seed)
    text = sample(r)
    picture, places, pitch = photograph(r, *draw(r, text))
    return picture, text, places, pitch


if __name__ == "__main__":
    import time

    start = time.process_time()
    rows = [line(i) for i in range(40)]
    print("ms a line", (time.process_time() - start) / 40 * 1000)
    sheet = np.full((40 * 36, MAX_WIDTH), 128, np.uint8)
    for i, (p, t, places, pitch) in enumerate(rows):
        sheet[i * 36 : i * 36 + 32, : p.shape[1]] = p
        for x in places:
            if 0 <= x < MAX_WIDTH:
                sheet[i * 36 + 32 : i * 36 + 35, int(x)] = 255
    Image.fromarray(sheet).save("sheet.png")
