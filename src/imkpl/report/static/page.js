// Cases, their cards, the map and the form. Text is only ever set as text, never as markup.
"use strict";
(() => {
  const find = (id) => document.getElementById(id);
  const data = JSON.parse(find("data").textContent);
  const { rows } = data.samples;
  const places = new Map(rows.map((row, place) => [row.key, place]));
  const [PAGE, UNFOLDED] = [100, 8];

  const fill = (element, attributes, children = []) => {
    for (const [name, value] of Object.entries(attributes)) {
      if (value !== null && value !== undefined && value !== false) element.setAttribute(name, value);
    }
    element.append(...children.filter((child) => child !== null && child !== undefined));
    return element;
  };
  const make = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
  const draw = (tag, attributes) => fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes);
  const isolate = (text) => make("bdi", {}, String(text));
  // Words that are written from the right are isolated from those around them in a sentence.
  const FROM_THE_RIGHT = /([\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]+(?:\s+[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]+)*)/;
  const say = (text) => text.split(FROM_THE_RIGHT).map((part, place) => (place % 2 ? isolate(part) : part));
  const { percent } = imkplPredictor;
  const cellText = (cell) => (cell === null ? "missing" : imkplPredictor.show(cell));
  const signed = (value) => (Math.abs(value) < 0.0005 ? "0" : `${value < 0 ? "\u2212" : "+"}${Math.abs(value).toFixed(Math.abs(value) < 0.01 ? 3 : 2)}`);
  const colorOf = (label) => {
    const place = data.classes.findIndex((one) => one === label);
    return place < 0 ? "" : `c${place % 8}`;
  };
  const capitalize = (word) => word[0].toUpperCase() + word.slice(1);
  const linkTo = (key) => `#case-${encodeURIComponent(key)}`;

  // The review: remarks by what they are about and its name, kept in this browser.
  const SAID = {
    case: ["agree", "wrong reason", "not a good example"], prototype: ["agree", "not a good example"], feature: ["agree", "wrong reason"],
  };
  const store = `imkpl review ${data.fingerprint}`;
  const review = { reviewer: "", remarks: [] };
  // A page in a frame has no store.
  try { Object.assign(review, JSON.parse(window.localStorage.getItem(store) ?? "{}")); } catch { /* remarks last as long as the page */ }
  const remarkOn = (about, name) => review.remarks.find((one) => one.about === about && one.name === name);
  const showRemarks = () => {
    const n = review.remarks.length;
    if (n) find("review").classList.remove("unanswered");
    find("review-status").textContent = n ? `${n} remark${n === 1 ? "" : "s"}, in this browser only.` : "No remarks yet.";
    find("review-save").disabled = find("review-clear").disabled = n === 0;
    find("remarks").replaceChildren(...review.remarks.map((one) => make("li", {}, `${one.about} `, make("b", {}, isolate(one.name)), `: ${one.said}`, ...(one.note ? [". ", isolate(one.note)] : []))));
  };
  const keep = () => {
    try { window.localStorage.setItem(store, JSON.stringify(review)); } catch { /* as above */ }
    showRemarks();
  };
  const mark = (about, name) => {
    const known = remarkOn(about, name);
    const label = `Review of ${about} ${name}`;
    const said = make("select", { "aria-label": label }, make("option", { value: "" }, "No remark"), ...SAID[about].map((text) => make("option", { value: text }, text)));
    const note = make("input", { type: "text", placeholder: "Why?", "aria-label": `${label}: note` });
    const box = make("span", { class: "mark" }, said, note);
    const show = () => { note.hidden = said.value === ""; box.classList.toggle("said", said.value !== ""); };
    [said.value, note.value] = [known?.said ?? "", known?.note ?? ""];
    box.addEventListener("input", () => {
      review.remarks = review.remarks.filter((one) => one.about !== about || one.name !== name);
      if (said.value) review.remarks.push({ about, name, said: said.value, note: note.value, when: new Date().toISOString() });
      show();
      keep();
    });
    show();
    return box;
  };
  const markAll = () => {
    for (const place of document.querySelectorAll("[data-mark]")) place.replaceChildren(mark(place.dataset.mark, place.dataset.name));
    find("reviewer").value = review.reviewer;
    showRemarks();
  };
  const download = () => {
    const { title, fingerprint } = data;
    const text = JSON.stringify({ format: "imkpl review", version: 1, model: { title, fingerprint }, ...review, when: new Date().toISOString() }, null, 1);
    const link = make("a", { href: URL.createObjectURL(new Blob([`${text}\n`], { type: "application/json" })), download: "review.json" });
    link.click();
    URL.revokeObjectURL(link.href);
  };

  // The list.
  const state = { search: "", filter: "all", order: "row", size: PAGE };
  const isUnsure = (row) => (row.doubt ? row.doubt !== "clear" : row.is_novel);
  const FILTERS = new Map([
    ["all", () => true],
    ["wrong", (row) => row.right === false],
    ["close", (row) => row.doubt === "close"],
    ["novel", (row) => row.is_novel || row.card?.doubt === "no evidence"],
  ]);
  const ORDERS = new Map([
    ["row", (a, b) => a.row - b.row],
    ["probability", (a, b) => a.probability - b.probability],
    ["novelty", (a, b) => b.novelty - a.novelty],
    ["sample", (a, b) => String(a.sample).localeCompare(String(b.sample), "en", { numeric: true })],
  ]);
  let chosen = null;
  let costs = null; // other than those of the model
  const showList = () => {
    const words = state.search.toLowerCase().split(/\s+/).filter(Boolean);
    const matches = (row) => {
      const text = `${row.sample} ${row.true ?? ""} ${row.predicted}`.toLowerCase();
      return words.every((word) => text.includes(word));
    };
    const found = rows.filter((row) => FILTERS.get(state.filter)(row) && matches(row)).sort(ORDERS.get(state.order));
    state.size = Math.max(state.size, PAGE * Math.ceil((1 + found.findIndex((row) => row.key === chosen)) / PAGE));
    find("list").replaceChildren(...found.slice(0, state.size).map((row) => make(
      "li", {},
      make("a", { href: linkTo(row.key), "aria-current": chosen === row.key ? "true" : null },
        make("span", { class: "id" }, isolate(row.sample)),
        make("span", { class: row.right === false ? "wrong" : null }, isolate(row.predicted),
          row.right === false ? make("span", { class: "hidden" }, " (wrong)") : null),
        make("span", { class: isUnsure(row) ? "p unsure" : "p" }, percent(row.probability), isUnsure(row) ? " ?" : "")),
    )));
    const n = found.length;
    find("more").hidden = n <= state.size;
    // The case that is open is in sight.
    const [box, open] = [find("list").parentElement, find("list").querySelector("[aria-current]")];
    const [top, bottom] = open ? [open.offsetTop, open.offsetTop + open.offsetHeight] : [box.scrollTop, 0];
    if (top < box.scrollTop || bottom > box.scrollTop + box.clientHeight) box.scrollTop = top - box.clientHeight / 3;
    find("status").textContent = n === rows.length ? `${n} cases` : `${n} of ${rows.length} cases`;
  };

  // The card.
  const DOUBTS = new Map([
    ["clear", ["clear", "Clear"]],
    ["close", ["close", "Close call"]],
    ["novel", ["novel", "Unlike the training data"]],
    ["no evidence", ["none", "No evidence"]],
  ]);
  const odds = (card) => {
    const rest = 1 - card.probability - card.runner_up_probability;
    const parts = [[card.answer, card.probability], [card.runner_up, card.runner_up_probability]];
    if (rest > 0.005) parts.push([null, rest]);
    const spans = parts.map(([label, share]) => make(
      "span", { class: `${label === null ? "" : colorOf(label)}${share < 0.12 ? " slim" : ""}` },
      ...(share < 0.12 ? [] : [isolate(label ?? "others"), ` ${percent(share)}`]),
    ));
    parts.forEach(([, share], place) => spans[place].style.setProperty("--part", share.toFixed(4)));
    const text = parts.map(([label, share]) => `${label ?? "others"} ${percent(share)}`).join(", ");
    return make("div", { class: "odds", role: "img", "aria-label": text }, ...spans);
  };
  const push = (value, largest, card) => {
    const bar = make("i", { class: colorOf(value < 0 ? card.runner_up : card.answer), "aria-hidden": "true" });
    bar.style.setProperty("--part", ((100 * Math.abs(value)) / (largest || 1)).toFixed(1));
    return make("span", { class: value < 0 ? "push minus" : "push" }, bar, make("span", { class: "n" }, signed(value)));
  };
  const nearest = (one, title, whole) => {
    const some = ({ n_cases: n }) => (n > 1 ? `, 1 of ${n}` : "");
    const { unlike } = one;
    return [make("span", { class: "title" }, `${title}:`), " like ", make("b", {}, make("a", { href: `#prototype-${one.prototype}` }, isolate(one.case))), " (", isolate(one.label), ")", some(one),
      one.n_cases > 1 ? ` (${percent(one.part)} of the prototype)` : "", `, similarity ${one.similarity.toFixed(2)}, ${percent(one.share)} of the ${whole}`,
      ...(unlike ? ["; unlike ", make("b", {}, isolate(unlike.case)), " (", isolate(unlike.label), `)${some(unlike)}, less ${unlike.similarity.toFixed(2)}`] : [])];
  };
  const hasCells = (card) => card.features.some((one) => one.value !== null || one.supporting !== null);
  const speakers = (card) => make("ul", { class: "notes speakers" },
    ...[[card.supporting, "Speaks for it"], [card.opposing, "Speaks against"]].filter(([one]) => one)
      .map(([one, title]) => make("li", {}, ...nearest(one, title, card.decision === "votes" ? "votes" : "code"), " ", mark("case", String(one.case)))));
  const compare = (card) => {
    const isTable = hasCells(card);
    const rest = card.rest.filter((one) => one.kind === "features" || signed(one.for) !== "0");
    // The features after the first are folded, but for those of the change below.
    const changed = new Set(card.change?.features.map((one) => one.name));
    const isFolded = (one, place) => card.features.length > UNFOLDED + 1 && place >= UNFOLDED && !changed.has(one.name);
    const folded = card.features.filter(isFolded);
    const inFold = folded.reduce((total, one) => total + one.for, 0);
    const largest = Math.max(...[...card.features, ...rest].map((one) => Math.abs(one.for)), Math.abs(inFold));
    const head = ["This case", ...[card.supporting, card.opposing].map((one) => (one ? `${one.case}, ${one.label}` : ""))];
    const line = (one, rank) => {
      const cell = (value, isNear, owner, place) => {
        if (!owner) return make("td", { role: "cell" }, "\u2013");
        return make("td", { role: "cell", class: `${isNear ? "alike" : "unlike"} ${colorOf(owner.label)}`, "data-head": head[place] },
          isolate(cellText(value)), make("span", { class: "hidden" }, isNear ? " alike" : " differs"));
      };
      const far = one.outside && (one.outside === "unseen" ? "not seen in training" : `${one.outside} all training cases`);
      const cells = isTable ? [
        make("td", { role: "cell", class: "mine", "data-head": head[0] }, isolate(cellText(one.value)), far ? make("span", { class: "far" }, far) : null),
        cell(one.supporting, one.near_supporting, card.supporting, 1),
        cell(one.opposing, one.near_opposing, card.opposing, 2),
      ] : [];
      return make("tr", { role: "row", class: isFolded(one, rank) ? "folded" : null }, make("th", { scope: "row", role: "rowheader" }, isolate(one.name)), ...cells,
        make("td", { role: "cell", class: "pushed" }, push(one.for, largest, card)));
    };
    const wide = (name, value, kind) => make("tr", { role: "row", class: `${kind} wide` },
      make("th", { scope: "row", role: "rowheader", colspan: isTable ? 4 : null }, ...name),
      make("td", { role: "cell", class: "pushed" }, kind === "sum" ? make("span", { class: "push" }, make("span", {}), make("span", { class: "n" }, signed(value))) : push(value, largest, card)));
    const fold = () => {
      const button = make("button", { type: "button", "aria-expanded": "false" }, `${folded.length} more features`);
      const row = wide([button], inFold, "fold");
      button.addEventListener("click", () => {
        const isOpen = row.closest("table").classList.toggle("open");
        button.setAttribute("aria-expanded", String(isOpen));
        button.textContent = isOpen ? `Fold ${folded.length} features` : `${folded.length} more features`;
      });
      return row;
    };
    const heads = [["Feature"]];
    const of = (one) => (one ? [make("b", {}, isolate(one.case)), " ", isolate(one.label)] : []);
    if (isTable) heads.push([make("b", {}, "This case")], of(card.supporting), of(card.opposing));
    heads.push(["Against \u2190 \u2192 for"]);
    return make("table", { class: "compare", role: "table", "aria-label": "The case beside the training cases for and against its answer" },
      make("thead", { role: "rowgroup" }, make("tr", { role: "row" }, ...heads.map((parts) => make("th", { scope: "col", role: "columnheader" }, ...parts)))),
      make("tbody", { role: "rowgroup" }, ...card.features.map(line),
        ...(folded.length ? [fold()] : []),
        ...rest.map((one) => wide(say(capitalize(one.name)), one.for, "rest")),
        wide(["Lead of ", isolate(card.answer), " over ", isolate(card.runner_up)], card.lead, "sum")));
  };
  const change = ({ to, features }) => make("p", { class: "change" }, "It would be ", isolate(to), " with ",
    ...features.flatMap((one, place) => [place ? " and " : "", isolate(one.name), " ", make("strong", {}, isolate(cellText(one.to))),
      " instead of ", make("span", { class: "joined" }, isolate(cellText(one.from)), place + 1 < features.length ? "" : ".")]));

  // A value between two points of a line.
  const between = ({ times, values }, at) => {
    const after = times.findIndex((time) => time >= at);
    if (after <= 0) return values[after < 0 ? values.length - 1 : 0];
    const [left, right] = [values[after - 1], values[after]];
    if (left === null || right === null) return null;
    return left + ((right - left) * (at - times[after - 1])) / (times[after] - times[after - 1]);
  };
  // A series over the supporting one, each step beside the one that it is aligned with. Steps that
  // tell the two classes apart are shaded.
  const overTime = ({ series, answer, supporting }) => {
    const [width, height] = [640, 110];
    const own = series.values;
    const end = Math.max(...own.times, 1);
    const other = { times: series.times, values: series.aligned.map((at) => between(series.supporting, at)) };
    const known = [...own.values, ...other.values].filter((value) => typeof value === "number");
    const [low, high] = [Math.min(...known), Math.max(...known)];
    const across = (time) => (time / end) * width;
    const line = ({ times, values }) => {
      let isDown = false;
      return values.map((value, step) => {
        const command = isDown ? "L" : "M";
        isDown = typeof value === "number";
        if (!isDown) return "";
        const y = height - 6 - ((value - low) / (high - low || 1)) * (height - 12);
        return `${command}${across(times[step]).toFixed(1)},${y.toFixed(1)}`;
      }).join("");
    };
    const isWhole = series.from === null;
    const when = isWhole ? "over its whole length" : series.from === series.to ? `at step ${series.from}` : `mostly in steps ${series.from} to ${series.to}`;
    const svg = draw("svg", { viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: "none", role: "img", "aria-label": `It decides ${when}.`, class: `time ${colorOf(answer)}` });
    // The steps that tell the classes apart: a band, and below it how much each step tells.
    const largest = Math.max(...series.shares) || 1;
    if (!isWhole) {
      const [start, stop] = [across(series.from), across(series.to)];
      svg.append(draw("rect", { x: start, y: 0, width: Math.max(2, stop - start), height, class: "band" }));
      series.times.forEach((time, step) => {
        const width = Math.max(1, across((series.times[step + 1] ?? end) - time));
        svg.append(draw("rect", { x: across(time), y: height - 5, width, height: 5, "fill-opacity": (series.shares[step] / largest).toFixed(3) }));
      });
    }
    svg.append(draw("path", { d: line(other), class: "other" }), draw("path", { d: line(own), class: "line" }));
    const how = series.summary ? `, compared by its ${series.summary}` : ", aligned step by step";
    return make("figure", {}, svg, make("figcaption", {}, isolate(series.channel), ": this case (thin) over ", isolate(supporting.case),
      ` (wide)${how}. It decides ${when}${isWhole ? "" : ", where it is more like that than like the other class"}.`));
  };

  const showCard = (card, row) => {
    const [kind, badge] = DOUBTS.get(card.doubt);
    const truth = row?.right === true ? [", ", make("span", { class: "truth ok" }, "right")]
      : row?.right === false ? [", ", make("span", { class: "truth" }, "wrong: it is ", isolate(row.true))] : [];
    const novelty = row ? row.novelty : card.novelty;
    const foot = make("div", { class: "foot" }, make("span", {}, `Novelty ${novelty.toFixed(2)}, usually at most ${data.novelty_threshold.toFixed(2)}`));
    if (row) foot.append(mark("case", String(row.sample)));
    if (row && starts.has(row.row)) {
      const edit = make("button", { type: "button" }, "Change its values");
      edit.addEventListener("click", () => go("#own"));
      foot.append(edit);
    }
    find("card").className = `card ${kind}`;
    find("card").replaceChildren(
      make("p", { class: "of" }, row ? "Case " : "", isolate(row ? row.sample : "Your own case"), ...truth),
      make("h3", { id: "card-title" }, isolate(card.answer), card.doubt === "clear" ? " " : "? ", make("span", { class: "badge" }, badge)),
      odds(card), make("p", { class: "doubt" }, ...say(card.doubt_text)), speakers(card), compare(card),
      ...(card.change ? [change(card.change)] : []),
      ...(card.notes.length ? [make("ul", { class: "notes" }, ...card.notes.map((note) => make("li", {}, ...say(note))))] : []),
      ...(card.series ? [overTime(card)] : []),
      foot,
    );
  };
  const showAbsent = (row) => {
    find("card").className = "card";
    find("card").replaceChildren(
      make("p", { class: "of" }, "Case ", isolate(row.sample)),
      make("h3", { id: "card-title" }, isolate(row.predicted), ` ${percent(row.probability)}`),
      make("p", { class: "absent" }, `This case has no card ${row.card ? "at these costs" : ""} here. Use model.explain(X).card(${row.row}).`),
    );
  };
  const choose = (key) => {
    const row = rows[places.get(key)];
    chosen = key;
    if (row.card && costs && starts.has(row.row)) showCard(imkplPredictor.predict(form, starts.get(row.row), String(row.sample)), row);
    else if (row.card && (!costs || row.card.answer === row.predicted)) showCard(row.card, row);
    else showAbsent(row);
    showList();
    markPoint();
  };

  // The form.
  const { form } = data;
  const starts = new Map((form.cases ?? []).map((one) => [one.row, one.cells]));
  let started = null;
  const fields = [];
  const buildForm = () => {
    const order = form.features.map((_, place) => place).sort((a, b) => data.features[b].weight - data.features[a].weight);
    const boxes = order.map((place) => {
      const feature = form.features[place];
      const id = `field-${place}`;
      let input;
      if (feature.kind === "number") {
        input = make("input", { id, type: "text", inputmode: "decimal", placeholder: form.takes_missing ? "missing" : "" });
      } else {
        const options = feature.kind === "flag" ? [true, false] : feature.categories;
        const named = options.map((value, choice) => make("option", { value: choice }, cellText(value)));
        if (feature.kind !== "flag") named.push(make("option", { value: "" }, "missing"));
        input = make("select", { id }, ...named);
        input.choices = options;
      }
      fields[place] = input;
      const [low, high] = feature.range;
      const hint = feature.kind === "number" && low !== null ? make("small", {}, `${cellText(low)} to ${cellText(high)} in training`) : null;
      return make("div", { class: "field" }, make("label", { for: id }, isolate(feature.name), hint), input);
    });
    const reset = make("button", { type: "button" }, "Reset");
    reset.addEventListener("click", () => fillForm(started));
    const wrong = make("p", { class: "wrong", role: "alert", id: "own-wrong" });
    find("own-form").replaceChildren(
      make("div", { class: "start" }, make("span", { id: "own-start" }), reset), wrong, make("div", { class: "fields", tabindex: "0", role: "group", "aria-label": "Values" }, ...boxes),
    );
    find("own-form").addEventListener("submit", (event) => event.preventDefault());
    find("own-form").addEventListener("input", answer);
  };
  const fillForm = (row) => {
    started = row;
    find("own-start").replaceChildren("Started from ", isolate(row.sample));
    starts.get(row.row).forEach((cell, place) => {
      const input = fields[place];
      if (input.choices) {
        // A category that training cases did not have can be typed by nobody else.
        if (cell !== null && !input.choices.includes(cell)) {
          input.choices.push(cell);
          input.append(make("option", { value: input.choices.length - 1 }, cellText(cell)));
        }
        input.value = cell === null ? "" : String(input.choices.indexOf(cell));
      } else input.value = cell === null ? "" : String(cell);
    });
    answer();
  };
  const readForm = () => fields.map((input) => {
    const text = input.value.trim().replace(",", ".");
    if (text === "") return null;
    return input.choices ? input.choices[Number(text)] : Number(text);
  });
  const answer = () => {
    const cells = readForm();
    const before = starts.get(started.row);
    const wrong = [];
    fields.forEach((input, place) => {
      const isWrong = Number.isNaN(cells[place]) || (cells[place] === null && !form.takes_missing);
      input.setAttribute("aria-invalid", String(isWrong));
      input.classList.toggle("changed", cells[place] !== before[place]);
      if (isWrong) wrong.push(form.features[place].name);
    });
    find("card").classList.toggle("stale", wrong.length > 0);
    find("own-wrong").replaceChildren(...(wrong.length ? ["Expected a number: ", isolate(wrong.slice(0, 3).join(", "))] : []));
    if (wrong.length === 0) showCard(imkplPredictor.predict(form, cells, "Your own case"), null);
  };
  const showTab = (name) => {
    if (form.why_absent) return;
    for (const one of ["list", "own"]) {
      find(`tab-${one}`).setAttribute("aria-selected", String(one === name));
      find(`tab-${one}`).tabIndex = one === name ? 0 : -1;
      find(`panel-${one}`).hidden = one !== name;
    }
  };
  const openForm = () => {
    if (fields.length === 0) buildForm();
    const row = rows[places.get(chosen)];
    fillForm(row && starts.has(row.row) ? row : rows.find((one) => starts.has(one.row)));
    showTab("own");
  };

  // What mistakes cost: answers, figures and cards at other costs, as in Python.
  const { cutoff } = data;
  const usual = rows.map(({ predicted, right, probability, card }) => ({ predicted, right, probability, doubt: card?.doubt ?? null }));
  rows.forEach((row, place) => Object.assign(row, usual[place]));
  const bonuses = (form.prototypes ?? []).map((one) => one.bonus - form.head_starts[one.class]);
  const share = (part, whole) => `${((100 * part) / whole).toFixed(1)}%`;
  const wilson = (part, n) => {
    const squared = 1.959964 ** 2 / n;
    const [center, width] = [part + squared / 2, Math.sqrt(squared * (part * (1 - part) + squared / 4))];
    return [-1, 1].map((side) => (center + side * width) / (1 + squared));
  };
  const setHeadStarts = (logs) => {
    if (!bonuses.length) return;
    form.head_starts = logs.map((log) => (log - Math.min(...logs)) / cutoff.temperature);
    form.prototypes.forEach((one, j) => { one.bonus = bonuses[j] + form.head_starts[one.class]; });
  };
  const answerRow = (row) => {
    const { temperature, scores } = cutoff;
    const soften = (logs) => {
      const chances = logs.map((log) => Math.exp(log - Math.max(...logs)));
      return chances.map((chance) => chance / chances.reduce((total, one) => total + one, 0));
    };
    const logs = scores[row.row].map((score) => temperature * score);
    const counted = soften(logs.map((log, c) => log + Math.log(costs[c])));
    const [first, second] = [...counted].sort((a, b) => b - a);
    const winner = counted.indexOf(first);
    const predicted = data.classes[winner];
    const isClose = first < 0.5 || second >= first / 3;
    Object.assign(row, {
      predicted, probability: soften(logs)[winner], right: data.samples.has_labels ? predicted === row.true : null,
      doubt: row.is_novel ? "novel" : isClose ? "close" : "clear",
    });
  };
  const showAnswers = () => {
    if (!data.samples.has_labels) {
      const counts = data.classes.map((label) => rows.filter((row) => row.predicted === label).length);
      document.querySelectorAll("#verdict .lead .top .n").forEach((cell, c) => { cell.textContent = counts[c]; });
      find("cutoff-figures").replaceChildren(...data.classes.flatMap((label, c) => [c ? ", " : "", isolate(label), ` ${counts[c]}`]));
      return;
    }
    const { n_independent: n, classes } = data.accuracy;
    const wrong = rows.filter((row) => row.right === false);
    const [nRight, nRows] = [rows.length - wrong.length, rows.length];
    const right = nRight / nRows;
    const said = (part, size) => wilson(part, size).map((end) => share(end, 1)).join(" to ");
    const table = document.querySelectorAll(".confusion tbody tr");
    const recalls = classes.map(({ label, n_independent: nOwn }, place) => {
      const own = rows.filter((row) => row.true === label);
      const found = own.filter((row) => row.right).length;
      const cells = table[place]?.querySelectorAll("td") ?? [];
      data.classes.forEach((answer, c) => {
        if (!cells.length) return;
        const count = own.filter((row) => row.predicted === answer).length;
        cells[c].className = `n ${c === place ? "right" : count ? "wrong" : "none"}`;
        cells[c].replaceChildren(String(count), ...(c !== place && count ? [make("span", { class: "hidden" }, " wrong")] : []));
      });
      if (cells.length && own.length) {
        const texts = [`${Math.round((100 * found) / own.length)}%`, wilson(found / own.length, nOwn).map((end) => `${Math.round(100 * end)}%`).join(" to ")];
        texts.forEach((text, k) => { cells[data.classes.length + k].textContent = text; });
      }
      return own.length ? [isolate(label), ` ${share(found, own.length)} (${said(found / own.length, nOwn)})`] : [];
    });
    const named = recalls.filter((parts) => parts.length).slice(0, 6).flatMap((parts, c) => [c ? ", " : "; by class: ", ...parts]);
    find("cutoff-figures").replaceChildren(`Right for ${nRight} of ${nRows}, ${share(nRight, nRows)} (${said(right, n)})`, ...named, ".");
    const title = find("verdict-title");
    const whole = wrong.length === 0 && nRows > 1 ? `all ${nRows}` : `${nRight} of ${nRows}`;
    title.textContent = title.textContent.replace(/^Right for (all \d+|\d+ of \d+)/, `Right for ${whole}`);
    const [low, high] = wilson(right, n);
    const place = (mark, name, value) => document.querySelector(`#verdict .lead .scale ${mark}`).style.setProperty(name, 100 * value);
    [[".dot", "--at", right], [".above", "--at", right], [".whisker", "--from", low], [".whisker", "--to", high]].forEach((one) => place(...one));
    document.querySelector("#verdict .lead .scale .above b").textContent = share(nRight, nRows);
    find("wrong").hidden = wrong.length === 0;
    find("wrong").querySelector(".count").textContent = wrong.length;
    const chips = wrong.slice(0, 12).map((row) => make("li", {}, make("a", { class: "chip bad", href: linkTo(row.key) }, isolate(row.sample),
      make("span", { class: "said" }, isolate(row.true), ", said ", isolate(row.predicted)))));
    if (wrong.length > 12) chips.push(make("li", { class: "more" }, `and ${wrong.length - 12} more`));
    find("wrong").querySelector(".chips").replaceChildren(...chips);
  };
  const setCosts = (next) => {
    costs = next;
    setHeadStarts((costs ?? cutoff.costs).map((cost, c) => Math.log(cost) + cutoff.temperature * cutoff.prior_starts[c]));
    rows.forEach((row, place) => (costs ? answerRow(row) : Object.assign(row, usual[place])));
    document.body.classList.toggle("moved", costs !== null);
    find("cutoff-reset").hidden = costs === null;
    showAnswers();
    if (find("panel-own")?.hidden === false) answer();
    else if (chosen !== null) choose(chosen);
    else showList();
  };
  const showCosts = (values) => {
    const inputs = [...document.querySelectorAll(".cost")];
    inputs.forEach((input, c) => { input.value = Number(values[c].toPrecision(6)); });
    if (inputs.length) return;
    const { target } = cutoff;
    const threshold = values[1 - target] / (values[0] + values[1]);
    find("threshold").value = threshold;
    find("threshold-value").textContent = share(threshold, 1);
  };
  if (cutoff) {
    find("cutoff").hidden = false;
    showCosts(cutoff.costs);
    find("cutoff").addEventListener("submit", (event) => event.preventDefault());
    find("cutoff-reset").addEventListener("click", () => { showCosts(cutoff.costs); setCosts(null); });
    find("threshold")?.addEventListener("input", ({ target: { value } }) => {
      find("threshold-value").textContent = share(Number(value), 1);
      const odds = (1 - Number(value)) / Number(value);
      setCosts(cutoff.target === 0 ? [odds, 1] : [1, odds]);
    });
    for (const input of document.querySelectorAll(".cost")) {
      input.addEventListener("input", () => {
        const values = [...document.querySelectorAll(".cost")].map((one) => Number(one.value));
        if (values.every((one) => one > 0)) setCosts(values);
      });
    }
  }

  // The map.
  const plot = document.querySelector(".plot");
  let ring = null;
  const markPoint = (place = data.map.findIndex((one) => one[2] !== null && rows[places.get(chosen)]?.row === one[2])) => {
    if (!plot) return;
    ring ??= plot.appendChild(draw("circle", { class: "at", r: 9 }));
    const [cx, cy] = data.map[place] ?? [];
    fill(ring, { cx, cy, visibility: place < 0 ? "hidden" : "visible" });
  };
  const byRow = new Map(rows.map((row) => [row.row, row]));
  const pointAt = (event) => {
    const box = plot.getBoundingClientRect();
    const scale = plot.viewBox.baseVal.width / box.width;
    const [x, y] = [(event.clientX - box.left) * scale, (event.clientY - box.top) * scale];
    let best = -1;
    let least = 20 ** 2;
    data.map.forEach(([left, top], place) => {
      const distance = (left - x) ** 2 + (top - y) ** 2;
      if (distance < least) [best, least] = [place, distance];
    });
    return best;
  };
  const tell = (place) => {
    const [, , number, sample, label] = data.map[place];
    const row = number === null ? null : byRow.get(number);
    if (!row) return ["Training case ", isolate(sample), ": ", isolate(label)];
    const said = [" (", percent(row.probability), ")"];
    const truth = row.right === false ? [", but it is ", isolate(row.true)] : [];
    return ["Held-out case ", isolate(sample), ": ", isolate(row.predicted), ...said, ...truth];
  };
  const point = (event) => {
    const place = pointAt(event);
    const isCase = place >= 0 && byRow.has(data.map[place][2]);
    plot.classList.toggle("over", isCase);
    if (place < 0) {
      hideTip();
      find("pointed").replaceChildren();
      markPoint();
      return;
    }
    markPoint(place);
    find("pointed").replaceChildren(...tell(place));
    showTip(tell(place), event.clientX, event.clientY + 14);
    if (isCase && event.type === "click") go(linkTo(byRow.get(data.map[place][2]).key));
  };
  if (plot) {
    plot.addEventListener("pointermove", point);
    plot.addEventListener("click", point);
    plot.addEventListener("pointerleave", () => { hideTip(); markPoint(); });
  }

  // Words that are explained where they stand.
  const showTip = (parts, x, y) => {
    const tip = find("tip");
    tip.replaceChildren(...parts);
    tip.hidden = false;
    const width = document.documentElement.clientWidth;
    tip.style.left = `${Math.max(8, Math.min(x, width - tip.offsetWidth - 8))}px`;
    tip.style.top = `${y + window.scrollY}px`;
  };
  const explainTerm = ({ target }) => {
    const box = target.getBoundingClientRect();
    showTip([find(target.getAttribute("aria-describedby")).textContent], box.left, box.bottom + 6);
  };
  const hideTip = () => { find("tip").hidden = true; };
  for (const term of document.querySelectorAll(".term")) {
    for (const type of ["pointerenter", "focus", "click"]) term.addEventListener(type, explainTerm);
    for (const type of ["pointerleave", "blur"]) term.addEventListener(type, hideTip);
  }
  document.addEventListener("keydown", (event) => { if (event.key === "Escape") hideTip(); });

  // Links: #case-17 opens a card, #own the form, #prototype-3 whatever is folded around it.
  const follow = (link, isFirst = false) => {
    let hash = link.slice(1);
    try { hash = decodeURIComponent(hash); } catch { return; }
    if (hash.startsWith("case-") && places.has(hash.slice(5))) {
      showTab("list");
      choose(hash.slice(5));
      const isNarrow = window.matchMedia("(max-width: 56rem)").matches;
      const box = find("card").getBoundingClientRect();
      if (isNarrow || box.top > window.innerHeight - 200 || box.bottom < 200) find(isNarrow ? "card" : "cases").scrollIntoView();
      find("card").focus({ preventScroll: true });
    } else if (hash === "own" && !form.why_absent) {
      openForm();
      find("cases").scrollIntoView();
      if (!isFirst) fields[0]?.focus({ preventScroll: true });
    } else if (hash) {
      const target = find(hash);
      for (let part = target; part; part = part.parentElement) if (part.tagName === "DETAILS") part.open = true;
      target?.scrollIntoView();
    }
  };
  // In a frame of a notebook the page has no address, and links would lead to the notebook.
  const isFramed = window.location.protocol === "about:";
  const go = (link) => {
    if (isFramed || link === window.location.hash) follow(link);
    else window.location.hash = link;
  };
  window.addEventListener("hashchange", () => follow(window.location.hash));
  document.addEventListener("click", (event) => {
    const link = event.target.closest?.("a[href^='#']");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    go(link.getAttribute("href"));
  });

  const links = [...document.querySelectorAll(".bar a")];
  const sections = links.map((link) => find(link.getAttribute("href").slice(1))).filter(Boolean);
  const watch = new IntersectionObserver(() => {
    const above = sections.filter((section) => section.getBoundingClientRect().top < 160);
    const here = (above[above.length - 1] ?? sections[0]).id;
    for (const link of links) link.classList.toggle("here", link.getAttribute("href") === `#${here}`);
  }, { rootMargin: "-60px 0px -60% 0px", threshold: [0, 0.1, 0.5, 1] });
  sections.forEach((section) => watch.observe(section));

  for (const id of ["search", "filter", "order"]) {
    find(id).addEventListener("input", ({ target }) => {
      Object.assign(state, { [id]: target.value, size: PAGE });
      showList();
    });
  }
  find("more").addEventListener("click", () => { state.size += PAGE; showList(); });
  document.querySelector("form.controls").addEventListener("submit", (event) => event.preventDefault());
  if (!form.why_absent) {
    find("tab-list").addEventListener("click", () => {
      showTab("list");
      if (chosen !== null) choose(chosen);
      if (!isFramed && window.location.hash === "#own") window.history.replaceState(null, "", linkTo(chosen));
    });
    find("tab-own").addEventListener("click", openForm);
    document.querySelector(".tabs").addEventListener("keydown", (event) => {
      if (event.key !== "ArrowLeft" && event.key !== "ArrowRight") return;
      const other = find(event.target.id === "tab-list" ? "tab-own" : "tab-list");
      other.focus();
      other.click();
    });
  }
  find("review-form").hidden = false;
  find("review-form").addEventListener("submit", (event) => event.preventDefault());
  find("reviewer").addEventListener("input", ({ target }) => { review.reviewer = target.value; keep(); });
  find("review-mark").addEventListener("click", ({ target }) => target.setAttribute("aria-pressed", String(document.body.classList.toggle("reviewing"))));
  find("review-save").addEventListener("click", download);
  find("review-clear").addEventListener("click", () => {
    review.remarks = [];
    keep();
    markAll();
    if (chosen !== null) choose(chosen);
  });
  markAll();
  let opened = [];
  window.addEventListener("beforeprint", () => {
    opened = [...document.querySelectorAll("details:not([open])")];
    for (const part of opened) part.open = true;
  });
  window.addEventListener("afterprint", () => { for (const part of opened) part.open = false; });

  document.querySelector(".split").hidden = false;
  // Something to begin with: an error, or else the least sure answer.
  const explained = rows.filter((row) => row.card);
  const first = explained.find((row) => row.right === false) ?? [...explained].sort(ORDERS.get("probability"))[0];
  if (first) choose(first.key);
  else showList();
  follow(window.location.hash, true);
})();
