"use strict";
// Sorts and filters the page's tables, links the plot to them, and stores the theme.
// It makes no markup: names of students are only moved or set as text.

const root = document.documentElement;
const $ = (id) => document.getElementById(id);
root.classList.add("js");

// ---- the theme: at once, before anything is drawn ----

const systemDark = matchMedia("(prefers-color-scheme: dark)");
const storedTheme = () => {
  try {
    return localStorage.getItem("theme");
  } catch {
    return null; // a browser may refuse to store anything for a file
  }
};
if (["light", "dark"].includes(storedTheme())) root.dataset.theme = storedTheme();

function startTheme() {
  const button = $("theme");
  const dark = () => (root.dataset.theme ?? (systemDark.matches ? "dark" : "light")) === "dark";
  const tell = () => button.setAttribute("aria-pressed", String(dark()));
  button.hidden = false;
  button.addEventListener("click", () => {
    root.dataset.theme = dark() ? "light" : "dark";
    try {
      localStorage.setItem("theme", root.dataset.theme);
    } catch {
      // then it lasts until the reader leaves the page
    }
    tell();
  });
  systemDark.addEventListener("change", tell);
  tell();
}

// ---- tables ----

const tables = []; // { table, body, rows: in the order of the page }
const filtered = () => tables.filter(({ table }) => !table.classList.contains("tasks"));

function startTables() {
  for (const table of document.querySelectorAll("table.board")) {
    const [body] = table.tBodies;
    const one = { table, body, rows: [...body.rows] };
    tables.push(one);
    for (const head of table.tHead.rows[0].cells) {
      if (!head.dataset.sort) continue;
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => sort(one, head));
    }
    keepRoles(table);
  }
}

// A table that looks like cards is still a table for screen readers.
function keepRoles(table) {
  table.role = "table";
  for (const part of [table.tHead, ...table.tBodies]) part.role = "rowgroup";
  for (const row of table.rows) {
    row.role = "row";
    for (const cell of row.cells) {
      cell.role = cell.tagName === "TD" ? "cell" : cell.scope === "col" ? "columnheader" : "rowheader";
    }
  }
}

// The first click sorts in the usual order of a column, the next one in reverse. Rows that have
// nothing in the column stay at the end; equals stay in the order of the page.
function sort({ table, body, rows }, head) {
  const now = head.getAttribute("aria-sort");
  const up = now ? now === "descending" : head.dataset.sort === "up";
  for (const each of table.tHead.rows[0].cells) each.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", up ? "ascending" : "descending");
  const column = head.cellIndex;
  const keyed = rows.map((row) => [row, Number(row.cells[column].dataset.v ?? NaN)]);
  keyed.sort(([, a], [, b]) => Number.isNaN(a) - Number.isNaN(b) || (up ? a - b : b - a) || 0);
  body.append(...keyed.map(([row]) => row));
  const name = head.textContent.trim();
  say(`Sorted by ${name}, ${up ? "ascending" : "descending"}. ${counted()}`);
}

function say(text) {
  const place = $("status");
  if (place) place.textContent = text;
}

function counted() {
  const rows = filtered().flatMap((one) => one.rows);
  const shown = rows.filter((row) => !row.hidden).length;
  if (!shown) return "No row fits.";
  const all = rows.length === 1 ? "1 row." : `${rows.length} rows.`;
  return shown === rows.length ? all : `${shown} of ${all}`;
}

// ---- filters ----

const fold = (text) => text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();
const names = new Map(); // of rows, folded

function startFilters() {
  const [filter, find] = [$("filter"), $("find")];
  if (find) {
    for (const row of filtered().flatMap((one) => one.rows)) {
      names.set(row, fold(row.querySelector(".who").textContent));
    }
  }
  $("status")?.closest("form").addEventListener("submit", (event) => event.preventDefault());
  filter?.addEventListener("change", narrow);
  $("baselines")?.addEventListener("change", narrow);
  find?.addEventListener("input", narrow);
  // A browser that returns to a page may have restored the typed text.
  if (filter?.value || find?.value || $("baselines")?.checked === false) narrow();
  else if ($("status")) say(counted());
}

function narrow() {
  const wanted = $("filter")?.value ?? "";
  const text = fold($("find")?.value.trim() ?? "");
  const bare = $("baselines")?.checked === false;
  // A baseline of several GPUs names none, and belongs to each.
  const ofAll = (row) => row.className === "baseline" && !row.dataset.g;
  const fits = (row) => !wanted || ofAll(row) || row.dataset.g.split(" ").includes(wanted);
  const shown = (row) =>
    fits(row) && !(bare && row.className === "baseline") && (!text || names.get(row).includes(text));
  for (const { table, rows } of filtered()) {
    for (const row of rows) row.hidden = !shown(row);
    if (table.querySelector(".place")) {
      table.classList.toggle("narrowed", wanted !== "");
      place(rows.filter((row) => row.dataset.low && fits(row)));
    }
  }
  dim(wanted !== "" || text !== "");
  say(counted());
}

// Places among some rows by the rule of the ranks; `rows` are in the order of the page.
function place(rows) {
  const [lows, highs] = ["low", "high"].map((end) => rows.map((row) => Number(row.dataset[end])));
  rows.forEach((row, n) => {
    const cell = row.querySelector(".place");
    const own = 1 + lows.findIndex((low) => low === lows[n]);
    cell.dataset.v = String(n);
    cell.textContent = `${own}${n && highs[n] >= lows[n - 1] ? " ≈" : ""}`;
  });
}

// ---- the plot ----

const points = new Map(); // by row

function startPlot() {
  const plot = document.querySelector(".plot.class");
  if (!plot) return;
  for (const point of plot.querySelectorAll("[data-row]")) {
    const row = $(`r${point.dataset.row}`);
    points.set(row, point);
    point.addEventListener("pointerenter", () => light(row, true));
    point.addEventListener("pointerleave", () => light(row, false));
    point.addEventListener("click", () => row.querySelector("a")?.focus());
    for (const [event, on] of [["pointerenter", true], ["pointerleave", false], ["focusin", true], ["focusout", false]]) {
      row.addEventListener(event, () => light(row, on));
    }
  }
}

function light(row, on) {
  row.classList.toggle("lit", on);
  const point = points.get(row);
  point.classList.toggle("lit", on);
  const text = (selector) => row.querySelector(selector).textContent.trim();
  $("readout").textContent = on
    ? `${text(".who")}: ${text(".share b")} (${text(".share span")}), rank ${text(".rank")}`
    : "\u00a0";
}

function dim(narrowed) {
  for (const [row, point] of points) point.classList.toggle("dim", narrowed && row.hidden);
  const wanted = $("filter")?.value ?? "";
  for (const mark of document.querySelectorAll(".plot .baseline")) {
    const other = mark.dataset.gpu && mark.dataset.gpu !== wanted;
    mark.classList.toggle("dim", wanted !== "" && Boolean(other));
  }
}

document.addEventListener("DOMContentLoaded", () => {
  startTheme();
  startTables();
  startPlot();
  startFilters();
});
