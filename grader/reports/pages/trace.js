"use strict";
// Draws the trace that the page holds. Text from a kernel is set as text, never as HTML.

const data = JSON.parse(document.getElementById("trace").textContent);
const accesses = data.accesses;
const lanes = data.unit === "lanes"; // of programs, which work on blocks of elements
const $ = (id) => document.getElementById(id);

let frame = -1; // index into data.frames
let pinnedKey = null; // the cell or thread that a click pinned in the readout
let playing = null; // the timer

// The drawn launch: its cells and threads by key, and the accesses behind each in this frame.
let launchDrawn = -1;
const cells = new Map();
const threads = new Map();

const CELL_REM = 3.3; // a cell with the gap after it, as in the style sheet

const HINT = $("readout").firstElementChild;

function make(tag, className = "", text = "") {
  const node = document.createElement(tag);
  if (className) node.className = className;
  if (text) node.textContent = text;
  return node;
}

function brackets(index) {
  return index.includes(",") ? `(${index})` : index;
}

function blockName(launch, block) {
  return `${data.words.group} ${brackets(data.launches[launch].blocks[block])}`;
}

function threadName(launch, block, thread) {
  if (lanes) return `lane ${thread} of ${blockName(launch, block)}`;
  const name = `thread ${brackets(data.launches[launch].threads[thread])}`;
  return data.launches[launch].several ? `${name} of ${blockName(launch, block)}` : name;
}

// Each block has its own shared memory; global memory has no block here.
function instance(array, block) {
  return data.arrays[array].shared ? `${array}/${block}` : `${array}/`;
}

function cellKey(access) {
  const where = access.element === null ? `at ${access.at}` : access.element;
  return `${instance(access.array, access.block)}/${where}`;
}

function threadKey(access) {
  return lanes ? `act ${access.act}/${access.thread}` : `thread ${access.block}/${access.thread}`;
}

// ---- building: once for each launch ----

function build(launch) {
  launchDrawn = launch;
  cells.clear();
  threads.clear();
  const mine = accesses.filter((access) => access.launch === launch);
  const place = $("arrays");
  place.replaceChildren();
  data.order.forEach((number) => {
    const array = data.arrays[number];
    if (!array.shared) {
      place.append(buildArray(number, null, mine));
      return;
    }
    const acting = mine.filter((access) => access.array === number);
    const faulty = new Set(acting.filter((access) => access.fault).map((access) => access.block));
    const blocks = [...new Set(acting.map((access) => access.block))].sort(
      (a, b) => faulty.has(b) - faulty.has(a) || a - b,
    );
    const drawn = blocks.slice(0, data.mostBlocks).sort((a, b) => a - b);
    for (const block of drawn) place.append(buildArray(number, block, mine));
    if (blocks.length > drawn.length) {
      const left = blocks.length - drawn.length;
      place.append(make("p", "note", `${array.name} of ${left} more ${left === 1 ? "block" : "blocks"} is not drawn.`));
    }
  });
  if (!data.arrays.length) place.append(make("p", "hint", `No ${data.words.one} touches an array.`));
  if (!lanes) buildThreads(launch);
}

function buildArray(number, block, mine) {
  const array = data.arrays[number];
  const own = instance(number, block);
  const section = make("div", "array");
  const of = block !== null && data.launches[launchDrawn].several
    ? ` of ${blockName(launchDrawn, block)}` : "";
  const title = make("h3", "", array.name);
  title.append(make("small", "", ` ${array.role}${of}, ${elements(array)}`));
  const scroll = make("div", "scroll");
  section.append(title, scroll);
  const box = make("div", array.columns ? "table" : "row");
  box.setAttribute("role", "group");
  box.setAttribute("aria-label", `${array.name}, ${array.role}${of}`);
  scroll.append(box);

  if (array.columns) {
    box.style.gridTemplateColumns = `repeat(${array.columns.length + 1}, max-content)`;
    box.append(make("span"), ...array.columns.map((name) => make("span", "index", name)));
  }
  if (!array.columns) wrapRows(box, array);
  array.cells.forEach((each, n) => {
    const cell = newCell(`${own}/${each.element}`, each.at, number, block, each.element);
    if (array.columns) {
      const across = array.columns.length;
      if (n % across === 0) box.append(make("span", "index side", array.rows[n / across]));
      box.append(cell);
    } else {
      box.append(unit(String(each.element), cell));
    }
  });

  // Accesses outside of the array: in line with it, if it is one line.
  const outside = new Map();
  for (const access of mine) {
    if (access.element === null && instance(access.array, access.block) === own) {
      outside.set(cellKey(access), access);
    }
  }
  if (outside.size) {
    const below = [];
    const above = [];
    for (const [key, access] of outside) {
      const cell = newCell(key, access.at, number, block, null);
      const name = access.at.slice(access.at.lastIndexOf("[") + 1, -1);
      (name.startsWith("-") && !array.columns ? below : above).push(unit(name, cell));
    }
    if (array.columns) {
      const beside = make("div", "row outside");
      beside.setAttribute("role", "group");
      beside.setAttribute("aria-label", `outside of ${array.name}`);
      beside.append(...above);
      scroll.append(beside);
    } else {
      if (below.length) box.prepend(...below, make("span", "gap"));
      if (above.length) box.append(make("span", "gap"), ...above);
    }
  }
  if (array.cells.length < array.size) {
    const drawn = array.cells.length.toLocaleString("en");
    section.append(make("p", "note", `${drawn} of ${elements(array)} are drawn.`));
  }
  enter(scroll);
  return section;
}

// End each row after whole blocks, or after a power of two, so that offsets show.
function wrapRows(box, array) {
  const rem = parseFloat(getComputedStyle(document.documentElement).fontSize);
  const fits = Math.max(Math.floor($("arrays").clientWidth / (CELL_REM * rem)), 1);
  if (array.cells.length <= fits) return;
  const unit = lanes ? 1 : data.launches[launchDrawn].columns;
  const across = unit > 1 && unit <= fits
    ? Math.floor(fits / unit) * unit : 2 ** Math.floor(Math.log2(fits));
  box.style.setProperty("--across", across);
  box.classList.add("wrapped");
}

function elements(array) {
  return array.size === 1 ? "1 element" : `${array.extent} elements`;
}

function unit(name, cell) {
  const node = make("span", "unit");
  node.append(make("span", "index", name), cell);
  return node;
}

function newCell(key, at, array, block, element) {
  const cell = make("button", "cell");
  cell.type = "button";
  cell.dataset.key = key;
  cells.set(key, { node: cell, at, array, block, element, accesses: [] });
  return cell;
}

function buildThreads(number) {
  const launch = data.launches[number];
  const place = $("threads");
  place.replaceChildren();
  place.className = launch.across && !launch.leftOut ? "placed" : "";
  place.style.gridTemplateColumns = place.className ? `repeat(${launch.across}, max-content)` : "";
  for (const block of launch.drawn) {
    const box = make("div", `block b${block % data.colours}`);
    box.setAttribute("role", "group");
    box.setAttribute("aria-label", blockName(number, block));
    box.append(make("p", "", blockName(number, block)));
    const lanes = make("div", "lanes");
    // A block with rows keeps them; a block of one dimension takes as many columns as fit.
    const rows = launch.threads.length > launch.columns;
    const across = rows ? launch.columns : Math.min(launch.columns, 8);
    lanes.style.gridTemplateColumns = `repeat(${across}, auto)`;
    launch.threads.forEach((name, thread) => {
      const node = make("button", "thread", name.replaceAll(" ", ""));
      node.type = "button";
      node.dataset.key = `thread ${block}/${thread}`;
      threads.set(node.dataset.key, { node, block, thread, accesses: [] });
      lanes.append(node);
    });
    box.append(lanes);
    enter(lanes);
    place.append(box);
  }
  if (launch.leftOut) place.append(make("p", "hint", `${launch.leftOut} more blocks are not drawn.`));
}

// Programs instead: each operation of this frame with the line of the kernel and its lanes.
function buildActs({ launch, step, block }) {
  const place = $("threads");
  place.replaceChildren();
  place.className = "acts";
  threads.clear();
  const drawn = data.acts
    .map((act, number) => ({ ...act, number }))
    .filter((act) => act.launch === launch && (step === null || act.step === step)
      && (block === null || act.block === block));
  for (const act of drawn.slice(0, data.mostActs)) place.append(buildAct(act));
  if (drawn.length > data.mostActs) {
    const left = drawn.length - data.mostActs;
    place.append(make("p", "hint", `${left} more operations: choose a program above.`));
  }
  const never = data.neverRan;
  if (never.launch === launch) {
    for (const { line, code } of never.lines) {
      const node = make("div", "act never");
      node.append(make("code", "", `${line}  ${code}`), make("p", "trouble", "⊘ never ran"));
      node.dataset.line = line;
      place.append(node);
    }
  }
}

function buildAct(act) {
  const node = make("div", `act b${act.block % data.colours}${act.stopped ? " stopped" : ""}`);
  if (act.line) node.dataset.line = act.line;
  const code = make("code", "", `${act.line ?? "·"}  ${act.code}`);
  if (data.launches[act.launch].several) {
    node.append(make("u", "", blockName(act.launch, act.block)));
  }
  node.append(code);
  if (act.kind === "reduce") node.append(make("p", "", act.gives));
  const grid = make("div", "lanes");
  grid.style.gridTemplateColumns = `repeat(${act.across || Math.min(act.lanes.length, 8)}, auto)`;
  for (const lane of act.lanes) {
    const cell = make("button", "thread lane");
    cell.type = "button";
    cell.dataset.key = `act ${act.number}/${lane}`;
    threads.set(cell.dataset.key, { node: cell, block: act.block, thread: lane, accesses: [], act });
    grid.append(cell);
  }
  if (act.lanes.length) node.append(grid);
  if (act.mask) node.append(make("p", "hint", act.mask));
  if (act.stopped) node.append(make("p", "trouble", "the error stopped the kernel here"));
  enter(grid);
  return node;
}

// ---- one frame ----

function show(number) {
  frame = Math.max(0, Math.min(number, data.frames.length - 1));
  const { launch, step, block = null, title, about } = data.frames[frame];
  if (launch !== launchDrawn) build(launch);
  if (lanes) buildActs({ launch, step, block });
  for (const cell of cells.values()) cell.accesses = [];
  for (const thread of threads.values()) thread.accesses = [];
  const now = [];
  accesses.forEach((access, n) => {
    if (access.launch !== launch || (step !== null && step !== access.step)) return;
    if (block !== null && block !== access.block) return;
    now.push(access);
    cells.get(cellKey(access))?.accesses.push(n);
    threads.get(threadKey(access))?.accesses.push(n);
  });
  markLines(now);
  for (const cell of cells.values()) fillCell(cell, launch);
  for (const thread of threads.values()) fillThread(thread, launch);
  const time = $("time");
  time.value = String(frame);
  time.setAttribute("aria-valuetext", title);
  $("title").textContent = title;
  $("about").textContent = about;
  $("back").disabled = frame === 0;
  $("forth").disabled = frame === data.frames.length - 1;
  point(pinnedKey);
}

// The faults of a cell in this frame: marks, with their words.
function troubles(cell) {
  const found = new Map();
  for (const n of cell.accesses) {
    const fault = accesses[n].fault;
    if (fault) found.set(fault, data.meanings[fault]);
  }
  if (cell.element === null) return found;
  const array = data.arrays[cell.array];
  const atTheEnd = frame === data.frames.length - 1;
  const wrong = array.wrong[cell.element];
  // Marked at its last write, and at the end.
  if (wrong && (atTheEnd || cell.accesses.includes(wrong.by))) found.set("wrong", wrong.text);
  if (atTheEnd && array.unwritten.includes(cell.element)) {
    found.set("unwritten", data.meanings.unwritten);
  }
  return found;
}

function fillCell(cell, launch) {
  const some = cell.accesses.map((n) => accesses[n]);
  const kinds = Object.keys(data.letters).filter((kind) => some.some((each) => each.kind === kind));
  const marks = troubles(cell);
  const node = cell.node;
  const touched = some.length > 0;
  node.className = ["cell", ...kinds].join(" ");
  if (cell.element === null) node.classList.toggle("ghost", touched);
  node.classList.toggle("faulty", marks.size > 0);
  node.classList.toggle("fresh", touched);
  node.replaceChildren();
  if (touched) {
    // The thread at fault, else the last writer, else the first by number; then the others.
    const faulty = some.filter((each) => each.fault);
    const changes = some.filter((each) => each.kind !== "read").reverse();
    const sorted = [...some].sort((a, b) => a.block - b.block || a.thread - b.thread);
    const actors = new Map();
    for (const each of [...faulty, ...changes, ...sorted]) {
      if (!actors.has(threadKey(each))) actors.set(threadKey(each), each);
    }
    const [actor, other] = actors.values();
    const others = actors.size - 1;
    const { blocks, threads: names, several } = data.launches[launch];
    node.classList.add(`b${actor.block % data.colours}`);
    if (several) node.append(make("u", "", `${data.words.short}${blocks[actor.block].replaceAll(" ", "")}`));
    node.append(make("i", "", kinds.map((kind) => data.letters[kind]).join("")));
    const label = names[actor.thread].replaceAll(" ", "");
    node.classList.toggle("long", label.length > (others ? 2 : 3));
    node.append(make("b", "", label));
    node.classList.toggle("several", others > 0);
    // Beside a value there is space for two short names.
    const named = label.length < 3 || !some.some((each) => each.value);
    if (others === 1 && other.block === actor.block && named) {
      node.append(make("s", "", `& ${names[other.thread].replaceAll(" ", "")}`));
    } else if (others) {
      node.append(make("s", "", "…"));
    }
  }
  const value = some.findLast((each) => each.value)?.value ?? "";
  if (value) node.append(make("em", "", brief(value)));
  node.classList.toggle("valued", Boolean(value));
  if (marks.size) {
    const text = [...marks.keys()].map((kind) => data.marks[kind]).join("");
    node.append(make("span", "badge", text));
  }
  node.hidden = cell.element === null && !touched;
  if (cell.element === null) node.parentElement.hidden = node.hidden;
  const what = [...new Set(some.map((each) => sentence(each, launch)))];
  node.setAttribute(
    "aria-label",
    `${cell.at}: ${[...few(what, 3), ...marks.values()].join("; ") || "not touched"}`,
  );
}

// As many digits as fit into a box; the readout has all.
function brief(value) {
  const number = Number(value);
  if (!value || Number.isNaN(number) || /^-?\d{1,6}$/.test(value)) return value;
  const shorter = [4, 3, 2].map((digits) => String(Number(number.toPrecision(digits))));
  return shorter.find((text) => text.length <= 6) ?? number.toExponential(0);
}

function fillLane(lane) {
  const { node, act, accesses: own } = lane;
  const access = own.length ? accesses[own[0]] : null;
  node.className = `thread lane b${act.block % data.colours}${access ? "" : " idle"}`;
  node.replaceChildren(make("b", "", String(lane.thread)));
  node.append(make("em", "", access ? brief(access.value) || "·" : "–"));
  if (access?.fault) {
    node.classList.add("faulty");
    node.append(make("span", "badge", data.marks[access.fault]));
  }
  const does = access ? `${data.verbs[access.kind]} ${access.at}` : "masked off";
  node.setAttribute("aria-label", `${threadName(act.launch, act.block, lane.thread)}: ${does}`);
}

function fillThread(thread, launch) {
  if (lanes) {
    fillLane(thread);
    return;
  }
  const node = thread.node;
  const idle = thread.accesses.length === 0;
  node.className = `thread b${thread.block % data.colours}${idle ? " idle" : ""}`;
  const name = threadName(launch, thread.block, thread.thread);
  const never = idle && neverRan(launch, thread);
  node.classList.toggle("never", never);
  const count = thread.accesses.length;
  const does = never ? "never ran" : idle ? "touches nothing" : `${count} ${count === 1 ? "access" : "accesses"}`;
  node.setAttribute("aria-label", `${name}: ${does}`);
}

function neverRan(launch, { block, thread }) {
  const never = data.neverRan;
  const { step } = data.frames[frame];
  if (never.launch !== launch) return false;
  if (never.blocks.includes(block)) return true;
  return never.block === block && never.threads.includes(thread)
    && (step === null || step === never.step);
}

function sentence(access, launch) {
  return `${threadName(launch, access.block, access.thread)} ${data.verbs[access.kind]}`;
}

function few(texts, most) {
  return texts.length <= most ? texts : [...texts.slice(0, most), `and ${texts.length - most} more`];
}

// ---- pointing ----

// Highlight everything related to a cell or a thread, and say it in words. null: nothing.
function point(key) {
  const subject = cells.get(key) ?? threads.get(key);
  const readout = $("readout");
  for (const node of document.querySelectorAll(".lit")) node.classList.remove("lit");
  for (const node of document.querySelectorAll(".lit-line")) node.classList.remove("lit-line");
  document.body.classList.toggle("asking", Boolean(subject));
  if (!subject) {
    readout.replaceChildren(HINT);
    return;
  }
  const { launch } = data.frames[frame];
  const isCell = cells.has(key);
  const some = subject.accesses.map((n) => accesses[n]);
  subject.node.classList.add("lit");
  const lines = new Map();
  for (const access of some) {
    (isCell ? threads.get(threadKey(access)) : cells.get(cellKey(access)))?.node.classList.add("lit");
    if (access.line) lightLine(access.line);
    const line = access.line ? ` · line ${access.line}` : "";
    const verb = access.value ? { read: ":", write: ":", update: ", leaves" }[access.kind] : "";
    const value = access.value ? `${verb} ${access.value}` : "";
    const what = isCell
      ? `${sentence(access, launch)}${value}`
      : `${data.verbs[access.kind]} ${access.at}${value}`;
    const fault = access.fault && !isCell ? ` (${data.meanings[access.fault]})` : "";
    const text = `${what}${fault}${line}`;
    lines.set(text, (lines.get(text) ?? 0) + 1);
  }
  const head = isCell
    ? `${subject.at}${subject.block !== null && data.launches[launch].several
        ? ` of ${blockName(launch, subject.block)}` : ""}`
    : threadName(launch, subject.block, subject.thread);
  const list = make("ul");
  const texts = [...lines].map(([text, times]) => (times > 1 ? `${text} (${times} times)` : text));
  for (const text of few(texts, 12)) list.append(make("li", "", text));
  if (!texts.length) {
    const idle = lanes ? "masked off: it touches nothing" : "touches nothing here";
    const never = !isCell && !lanes && neverRan(launch, subject) ? "never ran: an error came first" : idle;
    list.append(make("li", "", isCell ? `no ${data.words.one} touches it here` : never));
  }
  if (subject.act?.line) lightLine(subject.act.line);
  readout.replaceChildren(make("h3", "", head));
  if (isCell) {
    for (const text of troubles(subject).values()) readout.append(make("p", "trouble", text));
  }
  readout.append(list);
  showLine();
}

// Mark the lines of the kernel that act in this frame.
function markLines(some) {
  const now = new Set(some.map((access) => access.line));
  [...$("source").children].forEach((node, n) => node.classList.toggle("now-line", now.has(n + 1)));
}

function lightLine(number) {
  $("source").children[number - 1]?.classList.add("lit-line");
}

// Scroll the listing, and never the page, to the first lit line.
function showLine() {
  const list = $("source");
  const line = list.querySelector(".lit-line");
  if (!line) return;
  const top = line.offsetTop - list.offsetTop;
  if (top < list.scrollTop || top + line.offsetHeight > list.scrollTop + list.clientHeight) {
    list.scrollTop = top - list.clientHeight / 3;
  }
}

function keep(key) {
  pinnedKey = key;
  point(key);
}

function keyOf(event) {
  return event.target.closest?.("[data-key]")?.dataset.key ?? null;
}

for (const place of [$("arrays"), $("threads")]) {
  place.addEventListener("pointerover", (event) => {
    if (event.pointerType !== "touch") point(keyOf(event) ?? pinnedKey);
  });
  place.addEventListener("pointerleave", () => point(pinnedKey));
  place.addEventListener("focusin", (event) => point(keyOf(event) ?? pinnedKey));
  place.addEventListener("focusout", () => point(pinnedKey));
  place.addEventListener("click", (event) => {
    const key = keyOf(event);
    keep(key === pinnedKey ? null : key);
  });
}

// ---- the keyboard: one Tab stop for each array and each block, arrow keys within ----

function enter(group) {
  const first = group.querySelector("button");
  for (const node of group.querySelectorAll("button")) node.tabIndex = node === first ? 0 : -1;
  group.addEventListener("keydown", (event) => {
    const next = neighbour(group, event.target, event.key);
    if (!next) return;
    event.preventDefault();
    event.target.tabIndex = -1;
    next.tabIndex = 0;
    next.focus();
  });
}

function neighbour(group, from, key) {
  const all = [...group.querySelectorAll("button")].filter((node) => !node.hidden);
  const at = all.indexOf(from);
  switch (key) {
    case "ArrowLeft": return all[at - 1];
    case "ArrowRight": return all[at + 1];
    case "Home": return all[0];
    case "End": return all.at(-1);
    case "ArrowUp":
    case "ArrowDown": {
      // By layout, since an arriving cell is still moving, and in bands of half a cell.
      const sign = key === "ArrowDown" ? 1 : -1;
      const apart = from.offsetHeight / 2;
      const away = (node) => sign * (node.offsetTop - from.offsetTop);
      const aside = (node) => Math.abs(node.offsetLeft - from.offsetLeft);
      const beyond = all.filter((node) => away(node) > apart);
      const nearest = Math.min(...beyond.map(away));
      const row = beyond.filter((node) => away(node) < nearest + apart);
      return row.sort((a, b) => aside(a) - aside(b))[0];
    }
    default: return null;
  }
}

document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") keep(null);
});

// ---- time ----

function stop() {
  clearInterval(playing);
  playing = null;
  $("play").textContent = "▶ Play";
  $("play").setAttribute("aria-label", "Play");
}

function play() {
  if (frame === data.frames.length - 1) show(0);
  $("play").textContent = "❚❚ Pause";
  $("play").setAttribute("aria-label", "Pause");
  playing = setInterval(() => {
    show(frame + 1);
    if (frame === data.frames.length - 1) stop();
  }, 1200);
}

$("play").addEventListener("click", () => (playing ? stop() : play()));
for (const [id, by] of [["back", -1], ["forth", 1]]) {
  $(id).addEventListener("click", () => {
    stop();
    show(frame + by);
  });
}
$("time").addEventListener("input", (event) => {
  stop();
  show(Number(event.target.value));
});

for (const node of document.querySelectorAll(".problem")) {
  node.addEventListener("click", () => {
    stop();
    show(Number(node.dataset.frame));
    const key = cellKey(accesses[Number(node.dataset.access)]);
    keep(key);
    cells.get(key)?.node.scrollIntoView({ block: "center", inline: "center" });
  });
}

$("time").max = String(Math.max(data.frames.length - 1, 0));
document.querySelector(".controls").classList.toggle("still", data.frames.length < 2);
if (data.frames.length) show(data.start);
else {
  $("title").textContent = "No kernel was launched";
  $("threads").append(make("p", "hint", `No ${data.words.one} ran.`));
}
