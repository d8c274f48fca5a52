// The page of nmrgcl view: curves that follow a training, and a map of the embeddings.
import { createScatterplot, uPlot } from "./plots.js";

const at = (id) => document.getElementById(id);
const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
const dark = matchMedia("(prefers-color-scheme: dark)");
const EVERY = 2000; // milliseconds between questions about a training
const WHOLE = [1, 2, 5].flatMap((n) => [0, 1, 2, 3, 4, 5, 6].map((power) => n * 10 ** power)).sort((a, b) => a - b);
const LISTED = 200; // rows of a selection that are listed
const ROUNDING = 1e-6; // the share of the largest singular value below which others are errors, as in diagnose/spectrum.py
const RAMP = ["#440154", "#3b528b", "#21918c", "#5ec962", "#fde725"];

const state = { runs: [], curves: [], map: null, xy: null, values: null, chosen: -1, pointed: -1, rows: [], spectra: {} };
const plots = {};
let scatter = null;

function make(tag, words = "", more = {}) {
  const made = Object.assign(document.createElement(tag), more);
  made.textContent = words;
  return made;
}

async function ask(path, given = {}, kind = "json") {
  const answer = await fetch(`${path}?${new URLSearchParams(given)}`);
  if (!answer.ok) throw new Error((await answer.text()).trim());
  return kind === "json" ? answer.json() : kind === "text" ? answer.text() : answer.arrayBuffer();
}

const colour = (n) => getComputedStyle(document.documentElement).getPropertyValue(`--colour-${((n % 6) + 6) % 6}`).trim();
const ink = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
const short = (value) => (typeof value === "number" ? String(Number(value.toPrecision(4))) : value);
const here = () => ({ run: at("run").value || "0", seed: at("seed").value || "0" });

// Training: curves of all runs and seeds, and the latest spectra.

function lines(key) {
  const found = [];
  state.curves.forEach((one, run) => {
    for (const [seed, curves] of Object.entries(one.seeds)) {
      const name = state.runs.length > 1 ? `${state.runs[run].name}, seed ${seed}` : `seed ${seed}`;
      if (curves[key]?.[0].length) found.push({ name, run, x: curves[key][0], y: curves[key][1] });
    }
  });
  return found;
}

function spectra() {
  const found = [];
  state.curves.forEach((one, run) => {
    for (const [seed, curves] of Object.entries(one.seeds)) {
      const before = state.runs.length > 1 ? `${state.runs[run].name}, ` : "";
      (curves.spectra || []).forEach((values, n) => {
        const when = n || curves.spectra.length === 1 ? "now" : "after epoch 1";
        found.push({ name: `${before}seed ${seed} ${when}`, run, values, early: when !== "now" });
      });
    }
  });
  for (const one of Object.values(state.spectra)) found.push(one);
  return found.map(({ name, run, values, early }) => {
    const kept = values.filter((value) => value > ROUNDING * values[0]);
    return { name, run, early, x: kept.map((_, n) => n + 1), y: kept.map((value) => value / kept[0]) };
  });
}

function draw(key, found, labels, log = false) {
  const place = at(`plot-${key}`);
  at(`says-${key}`).textContent = found.length ? says(key, found) : "Nothing to show yet.";
  if (!found.length) {
    plots[key]?.plot.destroy();
    delete plots[key];
    return;
  }
  const x = [...new Set(found.flatMap((line) => line.x))].sort((a, b) => a - b);
  const row = new Map(x.map((value, n) => [value, n]));
  const data = [x, ...found.map((line) => {
    const values = new Array(x.length).fill(null);
    line.x.forEach((value, n) => { values[row.get(value)] = line.y[n]; });
    return values;
  })];
  const shape = JSON.stringify([found.map((line) => line.name), dark.matches, place.clientWidth]);
  if (plots[key]?.shape === shape) plots[key].plot.setData(data);
  else {
    plots[key]?.plot.destroy();
    const axis = { stroke: ink("ink"), grid: { stroke: ink("line"), width: 1 }, ticks: { stroke: ink("line") }, font: "12px system-ui" };
    const compact = (_, all) => all.map((value) => (value === null ? "" : Number(value.toPrecision(3)).toString()));
    const powers = (_, __, low, high) => {
      const from = Math.ceil(Math.log10(low)), count = Math.floor(Math.log10(high)) - from + 1, every = Math.ceil(count / 5);
      return Array.from({ length: Math.max(count, 1) }, (_, n) => 10 ** (from + n)).filter((_, n) => (count - 1 - n) % every === 0);
    };
    const plot = new uPlot({
      width: place.clientWidth, height: 224, scales: { x: { time: false }, y: { distr: log ? 3 : 1 } },
      axes: [{ ...axis, label: labels[0], labelSize: 16, labelFont: "12px system-ui", incrs: WHOLE, size: 34 },
        { ...axis, label: labels[1], labelSize: 18, labelFont: "12px system-ui", values: compact, size: 62, ...(log ? { splits: powers, filter: (_, all) => all } : {}) }],
      legend: { live: found.length < 7 }, cursor: { drag: { x: true, y: false } },
      series: [{ label: labels[0] }, ...found.map((line, n) => ({
        label: line.name, stroke: colour(state.runs.length > 1 ? line.run : n), width: 2, spanGaps: true,
        dash: line.early || (state.runs.length === 1 && n > 5) ? [6, 3] : [], points: { show: x.length < 40 },
        value: (_, value) => (value === null ? "–" : short(value)),
      }))],
    }, data, place);
    plots[key] = { shape, plot };
    plot.root.setAttribute("role", "img");
    plot.root.setAttribute("aria-label", `${labels[1]} by ${labels[0]}. The numbers are in the table below.`);
  }
  if (at(`numbers-${key}`).closest("details").open) list(key, found, labels);
}

function says(key, found) {
  const last = found.at(-1);
  if (key === "spectrum") return `${last.name}: ${last.y.length} directions are more than rounding.`;
  return `${last.name}: ${short(last.y.at(-1))} after epoch ${last.x.at(-1)}.`;
}

function list(key, found, labels) {
  const table = make("table", "", { className: "figures" });
  const head = table.createTHead().insertRow();
  for (const word of [labels[0], ...found.map((line) => line.name)]) head.append(make("th", word, { scope: "col" }));
  const x = [...new Set(found.flatMap((line) => line.x))].sort((a, b) => a - b);
  const step = Math.ceil(x.length / 200);
  const body = table.createTBody();
  x.filter((_, n) => n % step === 0 || n === x.length - 1).forEach((value) => {
    const row = body.insertRow();
    row.append(make("th", value, { scope: "row" }));
    for (const line of found) row.insertCell().textContent = short(line.y[line.x.indexOf(value)] ?? "");
  });
  at(`numbers-${key}`).replaceChildren(table);
}

const LABELS = { loss: ["epoch", "loss"], rank: ["epoch", "effective rank"], spectrum: ["direction", "singular value / largest"] };

function drawAll() {
  for (const key of ["loss", "rank"]) draw(key, lines(key), LABELS[key]);
  draw("spectrum", spectra(), LABELS.spectrum, true);
}

for (const key of Object.keys(LABELS)) {
  at(`numbers-${key}`).closest("details").addEventListener("toggle", drawAll);
}

async function follow() {
  try {
    const { runs } = await ask("api/runs");
    const before = JSON.stringify(state.runs.map((run) => run.seeds));
    state.runs = runs;
    state.curves = await Promise.all(runs.map((_, run) => ask("api/curves", { run })));
    const names = runs.map((run) => `${run.method} on ${run.dataset}`);
    at("title").textContent = names.join(" · ");
    document.title = `${names[0]}${runs.length > 1 ? ` and ${runs.length - 1} more` : ""} – nmrgcl view`;
    const told = runs.map(progress).join(" ");
    if (at("status").textContent !== told) at("status").textContent = told;
    drawAll();
    if (JSON.stringify(runs.map((run) => run.seeds)) !== before) offer();
  } catch (error) {
    at("status").textContent = `The server does not answer (${error.message}). Start nmrgcl view again.`;
  }
  setTimeout(follow, state.runs.some((run) => run.training) || !state.runs.length ? EVERY : 5 * EVERY);
}

function progress(run) {
  const name = state.runs.length > 1 ? `${run.name}: ` : "";
  const count = run.seeds.length;
  const done = `${count} model${count === 1 ? "" : "s"} complete`;
  if (!run.training) return `${name}${done}.`;
  const { seed, epoch, silent } = run.training;
  const of = run.epochs ? ` of ${run.epochs}` : "";
  const quiet = silent > 60 ? `, silent for ${Math.round(silent / 60)} min: it may have been killed` : "";
  return `${name}training seed ${seed}, epoch ${epoch}${of}${quiet}; ${done}.`;
}

// The map.

function offer() {
  const first = !at("run").options.length;
  fill(at("run"), state.runs.map((run, n) => [n, run.name]));
  if (first) at("run").value = Math.max(0, state.runs.findIndex((run) => run.seeds.length));
  offerSeeds();
  const reports = state.runs.map((run, n) => run.report && [n, run.name]).filter(Boolean);
  at("foot").replaceChildren(...reports.map(([n, name]) => {
    const line = make("p");
    line.append(make("a", `Report of ${name}`, { href: `report?run=${n}` }));
    return line;
  }));
}

function offerSeeds() {
  const seeds = state.runs[Number(at("run").value)]?.seeds || [];
  const before = JSON.stringify(here());
  const first = !at("seed").options.length;
  fill(at("seed"), seeds.map((seed) => [seed, `seed ${seed}`]));
  const wanted = Number(new URLSearchParams(location.hash.slice(1)).get("seed") ?? -1);
  if (first && seeds.includes(wanted)) at("seed").value = wanted;
  if (!seeds.length) at("waits").textContent = "The map appears once the first model is complete.";
  else if (!state.map || JSON.stringify(here()) !== before) load();
}

function fill(select, options) {
  const value = select.value;
  select.replaceChildren(...options.map(([key, words]) => make("option", words, { value: key })));
  if (options.some(([key]) => String(key) === value)) select.value = value;
}

let asked = 0;
async function load() {
  const mine = ++asked;
  at("waits").textContent = "Computing embeddings …";
  try {
    const map = await ask("api/map", here());
    const xy = new Float32Array(await ask("api/points", here(), "bytes"));
    if (mine !== asked) return;
    Object.assign(state, { map, placed: xy, chosen: -1, pointed: -1, rows: [] });
    const { run, seed } = here();
    state.spectra = { [run]: { name: state.runs.length > 1 ? `${state.runs[run].name}, seed ${seed}` : `seed ${seed}`, run: Number(run), values: map.spectrum } };
    const wanted = new URLSearchParams(location.hash.slice(1)).get("colour");
    fill(at("colour"), Object.keys(map.attributes).map((name) => [name, name]));
    if (wanted && map.attributes[wanted]) at("colour").value = wanted;
    document.querySelectorAll("a[data-figure]").forEach((link) => {
      link.href = `figure?${new URLSearchParams({ kind: link.dataset.figure, ...here() })}`;
    });
    const share = map.shares.map((value) => `${Math.round(100 * value)} %`).join(" and ");
    const words = `Map of ${map.count} ${map.things} on two principal axes (${share} of the variance); effective rank ${short(map.rank)} of ${map.dimensions}.`;
    at("frame").setAttribute("aria-label", words);
    await paint();
    at("waits").textContent = words;
    drawAll();
    const row = Number(new URLSearchParams(location.hash.slice(1)).get("row") ?? -1);
    if (row >= 0 && row < map.count) choose(row, true);
    performance.mark("map");
  } catch (error) {
    if (mine === asked) at("waits").textContent = `No map: ${error.message}.`;
  }
}

function open() {
  at("frame").hidden = false;
  if (scatter) return;
  const canvas = at("canvas");
  scatter = createScatterplot({
    canvas, width: "auto", height: "auto", lassoMinDelay: 5, pointSizeSelected: 3, deselectOnEscape: false,
    opacityInactiveScale: 0.6, actionKeyMap: { lasso: "shift" },
  });
  scatter.subscribe("pointOver", (row) => { point(row); });
  scatter.subscribe("select", ({ points }) => {
    if (points.length === 1) choose(points[0], false, true);
    else select(points);
  });
  scatter.subscribe("deselect", () => select([]));
}

async function paint() {
  const name = at("colour").value;
  const about = state.map.attributes[name];
  const values = new Float32Array(await ask("api/values", { ...here(), name }, "bytes"));
  try {
    open();
  } catch (error) {
    at("waits").textContent = `No map: this browser has no WebGL (${error.message}). Use the search and the neighbours.`;
    return;
  }
  const count = state.map.count;
  const z = new Float32Array(count);
  let colours;
  if (about.kind === "class") {
    const kinds = about.names.length;
    for (let n = 0; n < count; n++) z[n] = values[n] < 0 ? kinds : values[n];
    colours = [...about.names.map((_, n) => colour(n)), ink("faint")];
  } else {
    const [low, high] = about.ends;
    for (let n = 0; n < count; n++) z[n] = Number.isFinite(values[n]) ? (values[n] - low) / (high - low || 1) * 0.999 : 0;
    colours = ramp(64);
  }
  fit();
  const x = new Float32Array(count), y = new Float32Array(count);
  for (let n = 0; n < count; n++) { x[n] = state.xy[2 * n]; y[n] = state.xy[2 * n + 1]; }
  const size = count > 20000 ? 3 : count > 2000 ? 5 : 8;
  scatter.set({
    backgroundColor: ink("card"), pointColor: colours, pointColorActive: ink("ink"), pointColorHover: ink("ink"),
    colorBy: "valueA", pointSize: size, lassoColor: ink("ink"), opacity: count > 20000 ? 0.6 : 0.85,
  });
  await scatter.draw({ x, y, z }, { zDataType: about.kind === "class" ? "categorical" : "continuous" });
  state.values = values;
  legend(name, about);
}

// The plot shows −1 … 1 from top to bottom: wide maps are made smaller until they fit, and both axes keep one scale.
function fit() {
  const { aspect } = state.map, frame = at("frame"), shape = frame.clientWidth / Math.max(frame.clientHeight, 1);
  state.shape = shape;
  const smaller = 1 / Math.max(1, aspect / shape);
  state.xy = state.placed.map((value, n) => value * smaller * (n % 2 ? 1 : aspect));
}

function ramp(steps) {
  const parts = RAMP.map((code) => [1, 3, 5].map((n) => parseInt(code.slice(n, n + 2), 16)));
  return Array.from({ length: steps }, (_, n) => {
    const place = (n / (steps - 1)) * (parts.length - 1), low = Math.min(Math.floor(place), parts.length - 2);
    const mixed = parts[low].map((value, k) => Math.round(value + (parts[low + 1][k] - value) * (place - low)));
    return `#${mixed.map((value) => value.toString(16).padStart(2, "0")).join("")}`;
  });
}

function legend(name, about) {
  const place = at("legend");
  if (about.kind === "number") {
    const bar = make("span", "", { className: "bar" });
    bar.style.background = `linear-gradient(to right, ${RAMP.join(",")})`;
    place.replaceChildren(make("span", `${name}: ${short(about.ends[0])}`), bar, make("span", short(about.ends[1])));
    return;
  }
  const shown = about.names.slice(0, 40).map((kind, n) => {
    const item = make("span");
    const dot = make("span", "", { className: "dot" });
    dot.style.background = colour(n);
    item.append(dot, `${name} ${kind}`);
    return item;
  });
  const rest = about.names.length - shown.length;
  place.replaceChildren(...shown, ...(rest > 0 ? [make("span", `and ${rest} more`)] : []));
  if (about.names.length > 6) place.append(make("span", "(colours repeat after six)"));
}

const row_cache = new Map();
async function about(row, k = 0) {
  const key = JSON.stringify([here(), row, k]);
  if (!row_cache.has(key)) {
    if (row_cache.size > 500) row_cache.clear();
    row_cache.set(key, ask("api/row", { ...here(), row, k }));
  }
  return row_cache.get(key);
}

const one = () => state.map.things.slice(0, -1);
const name_of = (facts) => `${one()} ${facts.id}${facts.class === undefined ? "" : `, class ${facts.class}`}`;

let waiting = 0;
function point(row) {
  state.pointed = row;
  clearTimeout(waiting);
  waiting = setTimeout(async () => {
    if (state.pointed === row) show(row, false);
  }, 60);
}

async function show(row, pinned) {
  if (!pinned && state.chosen >= 0 && state.chosen !== row) {
    at("said").textContent = name_of(await about(row));
    return;
  }
  const facts = await about(row, pinned ? 8 : 0);
  const svg = await ask("api/drawing", { ...here(), row }, "text").catch(() => "");
  if (row !== (pinned ? state.chosen : state.pointed)) return;
  at("chosen").textContent = name_of(facts);
  at("said").textContent = `${name_of(facts)}${pinned ? ", opened; its nearest neighbours are listed beside the map" : ""}`;
  const table = make("table");
  for (const [name, value] of Object.entries(facts)) {
    if (["row", "neighbours", "id"].includes(name)) continue;
    const line = table.insertRow();
    line.append(make("th", name, { scope: "row" }));
    line.insertCell().textContent = short(value);
  }
  at("facts").replaceChildren(table);
  picture(svg, facts);
  at("near").replaceChildren();
  if (pinned) {
    const near = facts.neighbours.map((other) => {
      const item = make("li"), button = make("button", `${name_of(other)} – distance ${short(other.distance)}`, { type: "button" });
      button.addEventListener("click", () => choose(other.row, true));
      item.append(button);
      return item;
    });
    const listed = make("ul", "", { className: "rows" });
    listed.append(...near);
    at("near").append(make("h3", "Nearest neighbours", { className: "spaced" }), listed);
  }
}

function picture(text, facts) {
  at("drawing").replaceChildren();
  if (!text) return;
  const svg = new DOMParser().parseFromString(text, "image/svg+xml").documentElement;
  if (svg.nodeName !== "svg") return;
  svg.setAttribute("role", "img");
  svg.setAttribute("aria-label", `Drawing of ${name_of(facts)}`);
  at("drawing").append(document.importNode(svg, true));
}

function choose(row, move, silent = false) {
  state.chosen = row;
  state.pointed = row;
  if (scatter && !silent) scatter.select([row], { preventEvent: true });
  if (move && scatter && outside(row)) scatter.zoomToPoints([row, ...near(row, 30)], { padding: 0.2, transition: !still, transitionDuration: 300 });
  show(row, true);
  const hash = new URLSearchParams(location.hash.slice(1));
  hash.set("row", row);
  history.replaceState(null, "", `#${hash}`);
}

function screen(row) {
  const place = scatter.getScreenPosition(row);
  return place || [NaN, NaN];
}

function outside(row) {
  const [x, y] = screen(row);
  const frame = at("frame");
  return !(x >= 0 && y >= 0 && x <= frame.clientWidth && y <= frame.clientHeight);
}

function near(row, count) {
  const { xy, map: { count: all } } = state, found = [];
  for (let n = 0; n < all; n++) found.push([(xy[2 * n] - xy[2 * row]) ** 2 + (xy[2 * n + 1] - xy[2 * row + 1]) ** 2, n]);
  return found.sort((a, b) => a[0] - b[0]).slice(0, count).map(([, n]) => n);
}

function step(dx, dy) {
  const { xy } = state, from = state.pointed >= 0 ? state.pointed : state.chosen;
  let best = -1, least = Infinity;
  const x0 = from < 0 ? 0 : xy[2 * from], y0 = from < 0 ? 0 : xy[2 * from + 1];
  for (let n = 0; n < state.map.count; n++) {
    if (n === from) continue;
    const x = xy[2 * n] - x0, y = xy[2 * n + 1] - y0;
    const along = x * dx + y * dy, aside = Math.abs(x * dy - y * dx);
    if (from >= 0 && !(along > 0 && aside <= along)) continue;
    const far = x * x + y * y;
    if (far < least) { least = far; best = n; }
  }
  if (best < 0) { at("said").textContent = "No mark further on."; return; }
  state.pointed = best;
  if (scatter) {
    if (outside(best)) scatter.zoomToPoints([best, ...near(best, 30)], { padding: 0.2, transition: false });
    scatter.hover(best, { preventEvent: true, showReticleOnce: false });
  }
  if (state.chosen >= 0) { state.chosen = -1; scatter?.deselect({ preventEvent: true }); }
  show(best, false);
}

function select(rows) {
  state.rows = rows;
  at("selected").hidden = rows.length === 0;
  if (!rows.length) return;
  const named = state.map.attributes[at("colour").value];
  let words = `${rows.length} ${state.map.things} selected`;
  if (named.kind === "class") {
    const counts = new Map();
    for (const row of rows) counts.set(state.values[row], (counts.get(state.values[row]) || 0) + 1);
    const parts = [...counts].sort((a, b) => b[1] - a[1]).slice(0, 8).map(([code, n]) => `${named.names[code] ?? "no label"}: ${n}`);
    words += ` (${at("colour").value} ${parts.join(", ")})`;
  }
  at("counts").textContent = `${words}.`;
  at("said").textContent = `${words}.`;
  at("rows").replaceChildren(...rows.slice(0, LISTED).map((row) => {
    const item = make("li"), button = make("button", `${row + 1}`, { type: "button" });
    button.setAttribute("aria-label", `${one()} in row ${row + 1}`);
    button.addEventListener("click", () => choose(row, true));
    item.append(button);
    return item;
  }));
  if (rows.length > LISTED) at("rows").append(make("li", `and ${rows.length - LISTED} more`));
}

function save(blob, name) {
  const link = make("a", "", { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

at("run").addEventListener("change", () => { state.map = null; offerSeeds(); });
at("seed").addEventListener("change", load);
at("colour").addEventListener("change", () => {
  const hash = new URLSearchParams(location.hash.slice(1));
  hash.set("colour", at("colour").value);
  history.replaceState(null, "", `#${hash}`);
  paint();
});
at("find").addEventListener("submit", async (event) => {
  event.preventDefault();
  const { rows } = await ask("api/search", { ...here(), text: at("text").value.trim() });
  if (rows.length) choose(rows[0], true);
  else at("said").textContent = at("chosen").textContent = `No ${state.map ? one() : "row"} called ${at("text").value}`;
});
at("lasso").addEventListener("click", () => {
  const on = at("lasso").getAttribute("aria-pressed") !== "true";
  at("lasso").setAttribute("aria-pressed", on);
  scatter?.set({ mouseMode: on ? "lasso" : "panZoom" });
});
at("reset").addEventListener("click", () => scatter?.zoomToOrigin({ transition: !still }));
at("clear").addEventListener("click", () => { scatter?.deselect(); select([]); });
at("zoom").addEventListener("click", () => scatter?.zoomToPoints(state.rows, { padding: 0.1, transition: !still }));
at("csv").addEventListener("click", () => {
  const name = at("colour").value, about = state.map.attributes[name];
  const value = (row) => (about.kind === "class" ? about.names[state.values[row]] ?? "" : state.values[row]);
  const lines = state.rows.map((row) => `${row + 1},"${String(value(row)).replaceAll('"', '""')}"`);
  save(new Blob([`row,${name}\n${lines.join("\n")}\n`], { type: "text/csv" }), "selection.csv");
});
at("png").addEventListener("click", async () => {
  if (!scatter) return;
  const image = await scatter.export({ scale: 2 });
  const canvas = make("canvas", "", { width: image.width, height: image.height });
  const context = canvas.getContext("2d");
  const drawn = make("canvas", "", { width: image.width, height: image.height });
  drawn.getContext("2d").putImageData(image, 0, 0);
  context.fillStyle = ink("card");
  context.fillRect(0, 0, canvas.width, canvas.height);
  context.drawImage(drawn, 0, 0);
  canvas.toBlob((blob) => save(blob, "map.png"));
});
at("frame").addEventListener("keydown", (event) => {
  if (!state.map || event.ctrlKey || event.metaKey || event.altKey) return;
  const ways = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
  if (ways[event.key]) step(...ways[event.key]);
  else if (event.key === "Enter" && state.pointed >= 0) choose(state.pointed, false);
  else if (event.key === "Escape") { state.chosen = -1; scatter?.deselect(); select([]); }
  else if (event.key === "0") scatter?.zoomToOrigin({ transition: !still });
  else if (["+", "=", "-"].includes(event.key)) zoom(event.key === "-" ? 1.25 : 0.8);
  else return;
  event.preventDefault();
});

function zoom(factor) {
  if (!scatter) return;
  const middle = state.pointed >= 0 ? [state.xy[2 * state.pointed], state.xy[2 * state.pointed + 1]] : scatter.get("cameraTarget");
  scatter.zoomToLocation(middle, scatter.get("cameraDistance") * factor, { transition: !still, transitionDuration: 150 });
}

dark.addEventListener("change", () => { drawAll(); if (state.map) paint(); });
new ResizeObserver(() => drawAll()).observe(at("plots"));
new ResizeObserver(() => {
  const { clientWidth: width, clientHeight: height } = at("frame");
  if (state.map && state.xy && height && Math.abs(width / height / state.shape - 1) > 0.02) paint();
}).observe(at("frame"));
addEventListener("hashchange", () => {
  const row = Number(new URLSearchParams(location.hash.slice(1)).get("row") ?? -1);
  if (state.map && row >= 0 && row < state.map.count && row !== state.chosen) choose(row, true);
});
window.view = { state, scatter: () => scatter }; // for tests and the console
follow();
