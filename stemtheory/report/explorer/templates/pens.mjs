// Drawing with two kinds of pen, on a canvas or into SVG, and logarithmic axes for both.

/** @typedef {[number, number]} Spot */
/** @typedef {{rect: (x: number, y: number, w: number, h: number, colour: string) => void,
 *   path: (spots: Spot[], colour: string, width: number, dash?: number[]) => void,
 *   text: (x: number, y: number, text: string, colour: string, anchor?: string) => void}} Pen */
/** @typedef {{x: [number, number], y: [number, number], width: number, height: number,
 *   xLabel: string, yLabel: string}} Frame  the ends of both axes, in numbers above 0 */
export const MARGIN = { left: 62, right: 14, top: 20, bottom: 42 };

/** @param {CanvasRenderingContext2D} context @returns {Pen} */
export function canvasPen(context) {
  context.font = "12px system-ui, sans-serif";
  return {
    rect: (x, y, w, h, colour) => {
      context.fillStyle = colour;
      context.fillRect(x, y, w, h);
    },
    path: (spots, colour, width, dash = []) => {
      context.strokeStyle = colour;
      context.lineWidth = width;
      context.setLineDash(dash);
      context.beginPath();
      spots.forEach(([x, y], i) => (i ? context.lineTo(x, y) : context.moveTo(x, y)));
      context.stroke();
    },
    text: (x, y, text, colour, anchor = "start") => {
      context.fillStyle = colour;
      context.textAlign = anchor === "middle" ? "center" : anchor === "end" ? "right" : "left";
      context.fillText(text, x, y);
    },
  };
}

/** A pen whose strokes are collected as SVG. @returns {{pen: Pen, parts: string[]}} */
export function svgPen() {
  /** @type {string[]} */
  const parts = [];
  /** @param {number} v */
  const at = (v) => v.toFixed(1);
  /** @param {string} text */
  const safe = (text) => text.replace(/&/g, "&amp;").replace(/</g, "&lt;");
  const pen = {
    /** @type {Pen["rect"]} */
    rect: (x, y, w, h, colour) => void parts.push(
      `<rect x="${at(x)}" y="${at(y)}" width="${at(w)}" height="${at(h)}" fill="${colour}"/>`),
    /** @type {Pen["path"]} */
    path: (spots, colour, width, dash = []) => void parts.push(
      `<path d="M${spots.map(([x, y]) => `${at(x)} ${at(y)}`).join("L")}" fill="none" ` +
        `stroke="${colour}" stroke-width="${width}" stroke-dasharray="${dash.join(" ")}"/>`),
    /** @type {Pen["text"]} */
    text: (x, y, text, colour, anchor = "start") => void parts.push(
      `<text x="${at(x)}" y="${at(y)}" fill="${colour}" text-anchor="${anchor}">${safe(text)}</text>`),
  };
  return { pen, parts };
}

/** @param {string[]} parts @param {number} width @param {number} height @param {string} title */
export function svgText(parts, width, height, title) {
  const head = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}"`;
  const style = `font-family="system-ui, sans-serif" font-size="12" role="img"`;
  return `${head} ${style}><title>${title}</title>${parts.join("\n")}</svg>\n`;
}

/** A figure that stands out on any ground: wide in one colour, thin in another.
 * @param {Pen} pen @param {Spot[]} spots @param {[string, number][]} strokes */
export const outlined = (pen, spots, strokes) => {
  for (const [colour, width] of strokes) pen.path(spots, colour, width);
};

/** Where a number lies on each axis. @param {Frame} frame */
export function scalesOf({ x, y, width, height }) {
  /** @param {[number, number]} ends @param {number} from @param {number} to */
  const scale = ([low, high], from, to) => (/** @type {number} */ v) =>
    from + ((to - from) * Math.log(v / low)) / Math.log(high / low);
  return {
    x: scale(x, MARGIN.left, width - MARGIN.right),
    y: scale(y, height - MARGIN.bottom, MARGIN.top),
  };
}

/** @param {Pen} pen @param {Frame} frame @param {string} ink */
export function drawAxes(pen, frame, ink) {
  const [at, bottom] = [scalesOf(frame), frame.height - MARGIN.bottom];
  const right = frame.width - MARGIN.right;
  pen.path([[MARGIN.left, MARGIN.top], [MARGIN.left, bottom], [right, bottom]], ink, 1);
  for (const d of decades(frame.x, 9)) {
    pen.path([[at.x(10 ** d), bottom], [at.x(10 ** d), bottom + 4]], ink, 1);
    pen.text(at.x(10 ** d), bottom + 16, `1e${d}`, ink, "middle");
  }
  for (const d of decades(frame.y, 8)) {
    const y = at.y(10 ** d);
    pen.path([[MARGIN.left - 4, y], [MARGIN.left, y]], ink, 1);
    pen.text(MARGIN.left - 6, y + 4, `1e${d}`, ink, "end");
  }
  pen.text((MARGIN.left + right) / 2, frame.height - 6, frame.xLabel, ink, "middle");
  pen.text(MARGIN.left + 6, MARGIN.top - 4, frame.yLabel, ink);
}

/** The decades between two ends, at most so many of them. @param {[number, number]} ends
 * @param {number} most @returns {number[]} */
export function decades([low, high], most) {
  const [from, to] = [Math.ceil(Math.log10(low) - 1e-9), Math.floor(Math.log10(high) + 1e-9)];
  const stride = Math.max(1, Math.ceil((to - from + 1) / most));
  const length = Math.max(0, Math.floor((to - from) / stride) + 1);
  return Array.from({ length }, (_, i) => from + i * stride);
}

/** The lines where a grid of logarithms crosses a level, in grid units: marching squares.
 * @param {(number | null)[][]} grid @param {number} level @returns {[Spot, Spot][]} */
export function contour(grid, level) {
  /** @type {[Spot, Spot][]} */
  const found = [];
  for (let j = 0; j + 1 < grid.length; j += 1) {
    for (let i = 0; i + 1 < grid[j].length; i += 1) {
      const corners = [grid[j][i], grid[j][i + 1], grid[j + 1][i + 1], grid[j + 1][i]];
      if (corners.some((v) => v === null)) continue;
      /** @type {Spot[]} */
      const places = [[i, j], [i + 1, j], [i + 1, j + 1], [i, j + 1]];
      /** @type {Spot[]} */
      const cut = [];
      for (let side = 0; side < 4; side += 1) {
        const [u, v] = [Number(corners[side]) - level, Number(corners[(side + 1) % 4]) - level];
        if (u < 0 === v < 0) continue;
        const [[x, y], [X, Y], share] = [places[side], places[(side + 1) % 4], u / (u - v)];
        cut.push([x + share * (X - x), y + share * (Y - y)]);
      }
      for (let k = 0; k + 1 < cut.length; k += 2) found.push([cut[k], cut[k + 1]]);
    }
  }
  return found;
}
