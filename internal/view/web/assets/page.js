"use strict";
// The page shows boards as they come. Every text of the host becomes a text
// node: nothing is ever parsed as HTML. The token stays in this tab.

const $ = id => document.getElementById(id);
const STALE_MS = 15000, HISTORY = 600;
let token = sessionStorage.getItem("plumb-token") || "";
let arrived = 0, shown = null, latest = null, paused = false, lost = "", abort = null;
const charts = new Map(), past = new Map();

function el(tag, className, text) {
  const e = document.createElement(tag);
  if (className) e.className = className;
  if (text !== undefined) e.textContent = text;
  return e;
}

// isLimit tells verdicts that hold a server back from the one that says it has little to do.
const isLimit = id => id !== "" && id !== "client/idle";

function setText(e, text) { if (e.textContent !== text) e.textContent = text; }

// sync makes the children of a parent those of the items, and keeps what is
// there already: what a person has opened, focused or selected stays so.
function sync(parent, items, keyOf, make, fill) {
  const have = new Map();
  for (const c of parent.children) have.set(c.plumbKey, c);
  const seen = new Map();
  let at = parent.firstElementChild;
  for (const item of items) {
    let key = keyOf(item);
    const n = seen.get(key) || 0;
    seen.set(key, n + 1);
    key += "\n" + n;
    let e = have.get(key);
    if (!e) { e = make(item); e.plumbKey = key; }
    have.delete(key);
    if (e !== at) parent.insertBefore(e, at); else at = at.nextElementSibling;
    fill(e, item);
  }
  for (const e of have.values()) e.remove();
}

function svgBar(from, to) {
  const ns = "http://www.w3.org/2000/svg", svg = document.createElementNS(ns, "svg"), r = document.createElementNS(ns, "rect");
  svg.setAttribute("viewBox", "0 0 100 10");
  svg.setAttribute("preserveAspectRatio", "none");
  svg.setAttribute("aria-hidden", "true");
  r.setAttribute("height", "10");
  svg.append(r);
  setBar(svg, from, to);
  return svg;
}

function setBar(svg, from, to) {
  const r = svg.firstChild, wide = Math.max(1, 100 * (to - from));
  r.setAttribute("x", Math.min(99, 100 * from));
  r.setAttribute("width", wide);
}

// ---- what limits each server

function makeServer() {
  const a = el("article", "server");
  a.append(el("h2"), el("p", "says"), el("p", "dim detail"), el("div", "numbers"), el("div", "chart"), el("div", "classes"), el("div", "verdicts"));
  return a;
}

function fillServer(a, s) {
  const [h, says, detail, numbers, chart, classes, verdicts] = a.children;
  a.classList.toggle("limited", isLimit(s.limit));
  setText(h, s.title + " · " + s.ref);
  setText(says, s.now);
  setText(detail, s.detail ? s.limit + " · " + s.detail : "");
  sync(numbers, [{ label: "active sessions", shown: s.active === null ? "not known" : s.load.replace(" active sessions", "") }].concat(s.rates), r => r.label,
    () => { const e = el("span"); e.append(el("span", "dim"), " ", el("b")); return e; },
    (e, r) => { setText(e.firstChild, r.label); setText(e.lastChild, r.shown); });
  fillChart(chart, s);
  sync(classes, s.classes, c => c.class,
    c => { const e = el("div", "share"), b = svgBar(0, c.share); b.setAttribute("class", "bar"); e.append(el("span"), b, el("span")); return e; },
    (e, c) => { setText(e.children[0], c.class); setBar(e.children[1], 0, c.share); setText(e.children[2], c.shown); });
  sync(verdicts, shown.verdicts.filter(v => v.server === s.ref), v => v.id, makeVerdict, fillVerdict);
}

function makeVerdict() {
  const d = el("details"), list = el("dl");
  d.append(el("summary"), list);
  return d;
}

function fillVerdict(d, v) {
  setText(d.firstChild, (v.because ? "Follows: " : "Why: ") + v.id);
  const rows = [["limit", v.title], ["cost", v.cost], ["since", v.since]];
  if (v.because) rows.push(["because of", v.because]);
  if (v.causes) rows.push(["causes", v.causes]);
  rows.push(["that is", v.say]);
  const many = (label, list) => list.forEach((text, i) => rows.push([i ? "" : label, text]));
  many("evidence", v.evidence);
  many("against", v.against);
  many("do", v.do);
  many("check judges", v.rules);
  const dl = d.lastChild, flat = rows.flatMap((r, i) => [{ k: "t" + i, tag: "dt", text: r[0] }, { k: "d" + i, tag: "dd", text: r[1] }]);
  sync(dl, flat, x => x.k, x => el(x.tag), (e, x) => setText(e, x.text));
}

// ---- charts

function remember(b) {
  for (const s of b.servers) {
    let h = past.get(s.ref);
    if (!h) past.set(s.ref, h = [[], []]);
    const t = Date.parse(b.at) / 1000;
    while (h[0].length && h[0][h[0].length - 1] >= t) { h[0].pop(); h[1].pop(); } // the clock was set back
    const last = h[0].length ? h[0][h[0].length - 1] : t;
    if (t - last > 20) { h[0].push(last + 1); h[1].push(null); }
    h[0].push(t);
    h[1].push(s.active);
    while (h[0].length > HISTORY) { h[0].shift(); h[1].shift(); }
  }
  for (const ref of past.keys()) if (!b.servers.some(s => s.ref === ref)) past.delete(ref);
}

function fillChart(box, s) {
  const h = past.get(s.ref), known = h && h[1].some(v => v !== null);
  box.hidden = !known;
  if (!known) return;
  box.setAttribute("role", "img");
  box.setAttribute("aria-label", "Active sessions over the last minutes, now " + s.load);
  let c = charts.get(box);
  const width = Math.max(120, Math.floor(box.clientWidth));
  if (!c) {
    const css = getComputedStyle(document.documentElement), of = n => css.getPropertyValue(n).trim();
    const axis = { stroke: of("--dim"), grid: { stroke: of("--rule"), width: 1 }, ticks: { show: false }, font: "11px system-ui, sans-serif" };
    c = new uPlot({
      width, height: 84, legend: { show: false }, cursor: { show: false }, padding: [6, 26, 0, 0],
      tzDate: ts => uPlot.tzDate(new Date(ts * 1e3), "UTC"),
      scales: { y: { range: (u, lo, hi) => [0, Math.max(1, hi * 1.1)] } },
      axes: [Object.assign({ size: 20, space: 70, values: (u, all) => all.map(v => new Date(v * 1e3).toISOString().slice(11, 19)) }, axis), Object.assign({ size: 34, space: 24 }, axis)],
      series: [{}, { stroke: of("--line"), width: 1.5, points: { show: false } }],
    }, h, box);
    charts.set(box, c);
  } else {
    if (c.width !== width) c.setSize({ width, height: 84 });
    c.setData(h);
  }
}

function redrawCharts() {
  for (const [box, c] of charts) { c.destroy(); charts.delete(box); }
  if (shown) draw();
}
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redrawCharts);
addEventListener("resize", () => { if (shown) draw(); });

// ---- lists

function fillNode(li, n) {
  li.className = "d" + n.depth;
  const parts = [{ k: "name", cls: "name", a: n.label }];
  if (n.verdict) parts.push({ k: "flag " + n.verdict, cls: isLimit(n.verdict) ? "flag" : "dim", a: n.verdict });
  n.values.forEach(v => parts.push({ k: "v " + v.label, cls: "value", a: v.label, b: v.shown }));
  sync(li, parts, p => p.k,
    p => { const e = el("span", p.cls); if (p.b !== undefined) e.append(el("i"), " ", el("span")); return e; },
    (e, p) => { if (p.b === undefined) setText(e, p.a); else { setText(e.firstChild, p.a); setText(e.lastChild, p.b); } });
}

function fillSpan(li, s) {
  li.classList.toggle("holds", s.holds && isLimit(s.id));
  setText(li.children[0], s.when);
  setBar(li.children[1], s.from, s.to);
  const what = li.children[2];
  setText(what.children[0], s.id);
  setText(what.children[1], s.server + " · " + s.title + " · " + s.cost + " · " + (s.holds ? "for " : "held ") + s.lasted);
}

function makeSpan(s) {
  const li = el("li"), what = el("span", "what");
  what.append(el("b"), " ", el("span"));
  li.append(el("time"), svgBar(s.from, s.to), what);
  return li;
}

// table shows items in a table; on a narrow screen each row becomes a list.
function table(box, columns, items, keyOf, none) {
  let t = box.querySelector("table");
  if (!t) {
    t = el("table");
    t.setAttribute("role", "table");
    const head = el("tr");
    head.setAttribute("role", "row");
    for (const c of columns) { const th = el("th", "", c.label); th.scope = "col"; th.setAttribute("role", "columnheader"); head.append(th); }
    const thead = el("thead"), body = el("tbody");
    thead.setAttribute("role", "rowgroup");
    body.setAttribute("role", "rowgroup");
    thead.append(head);
    t.append(thead, body);
    box.replaceChildren(el("p", "dim", none), t);
    box.tabIndex = 0;
  }
  box.firstChild.hidden = items.length > 0;
  setText(box.firstChild, none);
  t.hidden = items.length === 0;
  sync(t.lastChild, items, keyOf,
    () => {
      const tr = el("tr");
      tr.setAttribute("role", "row");
      for (const c of columns) {
        const td = el("td", c.cls);
        td.dataset.label = c.label;
        td.setAttribute("role", "cell");
        if (c.press) { const b = el("button"); b.type = "button"; b.addEventListener("click", () => c.press(tr.plumbItem)); td.append(b); }
        tr.append(td);
      }
      return tr;
    },
    (tr, item) => {
      tr.plumbItem = item;
      columns.forEach((c, i) => {
        const td = tr.children[i];
        if (c.press) { td.firstChild.hidden = !c.of(item); setText(td.firstChild, c.of(item)); } else setText(td, c.of(item));
      });
    });
}

// ---- the plan of a statement, when somebody asks for it

let planFor = "";

function showPlan(title, all) {
  $("plan").hidden = false;
  setText($("plan-of"), title);
  sync($("plan-steps"), all.map((text, i) => ({ i, text })), x => "" + x.i, () => el("li"), (e, x) => setText(e, x.text));
}

async function askPlan(s) {
  planFor = s.key;
  const title = s.text + " · " + s.server;
  showPlan(title, ["The server explains how it would run the statement; it does not run it."]);
  let all;
  try {
    const answer = await fetch("/api/plan/" + s.key, { headers: { Authorization: "Bearer " + token }, cache: "no-store", credentials: "omit", redirect: "error" });
    all = answer.ok ? await answer.json() : [(await answer.text()).trim().slice(0, 200)];
  } catch (e) {
    all = ["plumb does not answer"];
  }
  if (planFor === s.key) showPlan(title, all);
}

const sessionColumns = [
  { label: "server", cls: "short", of: s => s.server }, { label: "id", cls: "number", of: s => s.id }, { label: "user", cls: "short", of: s => s.user },
  { label: "from", cls: "short", of: s => s.client }, { label: "does", of: s => s.does + (s.wait ? " (" + s.wait + ")" : "") },
  { label: "for", cls: "number", of: s => s.for }, { label: "waits for", cls: "short", of: s => s.waits_for }, { label: "statement", cls: "text", of: s => s.text },
];
const statementColumns = [
  { label: "server", cls: "short", of: s => s.server }, { label: "database", cls: "short", of: s => s.database }, { label: "share of time", cls: "number", of: s => s.share },
  { label: "calls", cls: "number", of: s => s.calls }, { label: "each", cls: "number", of: s => s.each }, { label: "touched", cls: "words", of: s => s.touched },
  { label: "changed by", of: s => s.change }, { label: "statement", cls: "text", of: s => s.text }, { label: "", cls: "press", of: s => s.key ? "Plan" : "", press: askPlan },
];

function lines(id, items) {
  $(id + "-section").hidden = items.length === 0;
  sync($(id), items, x => x, () => el("li"), setText);
}

function draw() {
  const b = shown;
  setText($("host"), b.hostname);
  sync($("now"), b.servers, s => s.ref, makeServer, fillServer);
  for (const box of charts.keys()) if (!box.isConnected) { charts.get(box).destroy(); charts.delete(box); }
  sync($("tree"), b.tree, n => n.ref, () => el("li"), fillNode);
  const spans = b.timeline.slice().reverse();
  sync($("timeline"), spans, s => s.key, makeSpan, fillSpan);
  $("timeline-none").hidden = spans.length > 0;
  table($("sessions"), sessionColumns, b.sessions, s => s.server + " " + s.id, b.servers.some(s => s.active === null) ?
    "The sessions of a server cannot be seen: why stands at the end." : "No session is active.");
  setText($("over"), b.over);
  const by = $("sort").value;
  table($("statements"), statementColumns, b.statements.slice().sort((x, y) => x.places[by] - y.places[by]), s => s.key || s.server + " " + s.text, "No statement was counted, or none is visible.");
  lines("indexes", b.indexes.map(x => x.name + ": " + x.why));
  const reasons = new Map(); // those of one reason together: a server that is down is the reason of most
  for (const u of b.unknown) {
    const why = " of " + u.server + ": " + u.why;
    reasons.set(why, (reasons.get(why) || []).concat(u.id));
  }
  lines("unknown", [...reasons].map(([why, ids]) => ids.join(", ") + why));
  lines("gaps", b.gaps);
}

function age() {
  const e = $("age");
  if (!arrived) { setText(e, lost || "waiting for the first window"); e.classList.toggle("old", lost !== ""); return; }
  const old = Date.now() - arrived, seconds = Math.max(0, Math.floor(old / 1000)) + " s old";
  const head = lost ? "LOST: " + lost + ", " : paused ? "paused, " : old >= STALE_MS ? "STALE, " : "";
  e.classList.toggle("old", lost !== "" || old >= STALE_MS);
  e.setAttribute("aria-live", head ? "polite" : "off");
  setText(e, head + seconds + (shown ? " · " + shown.clock : ""));
}
setInterval(age, 1000);

function take(b) {
  latest = b;
  lost = "";
  remember(b);
  if (!paused) { shown = b; arrived = Date.now(); draw(); }
  age();
}

// ---- the stream

class Refused extends Error {}

async function read(signal) {
  const answer = await fetch("/api/stream", { headers: { Authorization: "Bearer " + token }, signal, cache: "no-store", credentials: "omit", redirect: "error" });
  if (answer.status === 401) throw new Refused("This token is not right.");
  if (!answer.ok) throw new Error((await answer.text()).trim().slice(0, 200));
  enter();
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    rest += value;
    for (let i; (i = rest.indexOf("\n\n")) >= 0; rest = rest.slice(i + 2)) {
      const event = rest.slice(0, i);
      if (event.startsWith("data: ")) take(JSON.parse(event.slice(6)));
    }
  }
}

async function run() {
  if (abort) abort.abort();
  const mine = abort = new AbortController();
  for (let wait = 1000; !mine.signal.aborted; wait = Math.min(wait * 2, 15000)) {
    const began = Date.now();
    try {
      await read(mine.signal);
      lost = "plumb ended the stream";
    } catch (e) {
      if (mine.signal.aborted) return;
      if (e instanceof Refused) { forget(e.message); return; }
      lost = e instanceof TypeError ? "plumb does not answer" : e.message;
      if (!shown) { setText($("login-error"), lost); }
    }
    age();
    if (Date.now() - began > 30000) wait = 1000;
    await new Promise(r => setTimeout(r, wait));
  }
}

function enter() {
  sessionStorage.setItem("plumb-token", token);
  $("login").hidden = true;
  $("main").hidden = false;
  $("token").value = "";
  setText($("login-error"), "");
}

function forget(why) {
  if (abort) abort.abort();
  token = "";
  sessionStorage.removeItem("plumb-token");
  shown = latest = null;
  planFor = "";
  $("plan").hidden = true;
  arrived = 0;
  $("main").hidden = true;
  $("login").hidden = false;
  setText($("login-error"), why || "");
  $("token").focus();
}

$("login").addEventListener("submit", e => {
  e.preventDefault();
  token = $("token").value.trim();
  if (!/^[\x21-\x7e]+$/.test(token)) { setText($("login-error"), "This token is not right."); return; }
  run();
});
$("forget").addEventListener("click", () => forget(""));
$("sort").addEventListener("change", () => { if (shown) { draw(); $("statements").scrollTop = 0; } });
$("plan-close").addEventListener("click", () => { planFor = ""; $("plan").hidden = true; });
$("pause").addEventListener("click", () => {
  paused = !paused;
  $("pause").setAttribute("aria-pressed", String(paused));
  setText($("pause"), paused ? "Go on" : "Pause");
  if (!paused && latest) take(latest);
  age();
});

if (token) run(); else forget("");
