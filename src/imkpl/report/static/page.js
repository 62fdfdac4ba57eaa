"use strict";
// The table of samples and their explanations. Data goes into the page as text, never as markup.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const rows = data.samples.rows;
  const PAGE = 15;
  // Rows on paper.
  const PRINTED = 100;
  const state = { query: "", onlyWrong: false, onlyNovel: false, key: null, sign: 1, page: 0, size: PAGE };
  const find = (id) => document.getElementById(id);
  const table = find("sample-table");
  const body = table.tBodies[0];
  const isByVotes = data.decision === "votes";
  const voting = isByVotes ? "votes" : "code";
  const Feature = data.feature_word[0].toUpperCase() + data.feature_word.slice(1);
  let chosen = null;

  const make = (tag, attributes = {}, ...children) => {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    for (const child of children) element.append(child);
    return element;
  };
  // A name whose writing direction does not reach the text around it.
  const isolate = (name) => make("bdi", {}, String(name));
  const percent = (share, digits = 0) => `${(100 * share).toFixed(digits)}\u00a0%`;
  const digits = (value, n) => Number(value.toPrecision(n)).toString();
  const signed = (value) => (value > 0 ? "+" : "") + digits(value, 3);
  const cell = (value) => {
    if (value === null) return "missing";
    return typeof value === "number" ? digits(value, 4) : String(value);
  };
  const names = (row) => [row.sample, row.true, row.predicted].map((value) => String(value ?? ""));
  const haystack = rows.map((row) => {
    const verdict = row.right === false ? "wrong" : row.right ? "right" : "";
    const main = row.main === null ? "" : `prototype ${row.main}`;
    return [...names(row), verdict, main, row.is_novel ? "novel" : ""].join("\n").toLowerCase();
  });

  const compare = (a, b) => {
    if (a === b) return 0;
    if (a === null) return 1;
    if (b === null) return -1;
    if (typeof a === "number" && typeof b === "number") return a - b;
    return String(a).localeCompare(String(b), "en", { numeric: true });
  };
  const visible = () => {
    const words = state.query.toLowerCase().split(/\s+/).filter(Boolean);
    const kept = rows.map((_, place) => place).filter((place) => {
      if (state.onlyWrong && rows[place].right !== false) return false;
      if (state.onlyNovel && !rows[place].is_novel) return false;
      return words.every((word) => haystack[place].includes(word));
    });
    if (state.key !== null) {
      kept.sort((a, b) => state.sign * compare(rows[a][state.key], rows[b][state.key]) || a - b);
    }
    return kept;
  };

  const line = (place) => {
    const row = rows[place];
    const open = make("button", { type: "button", dir: "auto" }, String(row.sample));
    const tr = make("tr", {}, make("th", { scope: "row" }, open));
    tr.dataset.place = place;
    if (place === chosen) tr.className = "chosen";
    if (data.samples.has_labels) tr.append(make("td", { dir: "auto" }, String(row.true)));
    const predicted = make("td", { dir: "auto" }, isolate(row.predicted));
    if (row.right === false) {
      predicted.className = "wrong";
      predicted.append(" (wrong)");
    }
    const novelty = row.novelty.toFixed(2) + (row.is_novel ? " (novel)" : "");
    tr.append(
      predicted,
      make("td", { class: "n" }, percent(row.probability)),
      make("td", { class: "n" }, novelty),
      make("td", { class: "n" }, row.main === null ? "none" : String(row.main)),
    );
    return tr;
  };
  const show = () => {
    const kept = visible();
    const last = Math.max(0, Math.ceil(kept.length / state.size) - 1);
    state.page = Math.min(state.page, last);
    const start = state.page * state.size;
    const part = kept.slice(start, start + state.size);
    body.replaceChildren(...part.map(line));
    const span = part.length ? `${start + 1} to ${start + part.length} of ` : "";
    const among = kept.length < rows.length ? ` found among ${rows.length}` : "";
    find("status").textContent = `Showing ${span}${kept.length} samples${among}.`;
    find("page").textContent = `Page ${state.page + 1} of ${last + 1}`;
    find("previous").disabled = state.page === 0;
    find("next").disabled = state.page === last;
    for (const button of table.tHead.querySelectorAll("button")) {
      const order = button.dataset.key !== state.key ? "none" : state.sign > 0 ? "ascending" : "descending";
      button.parentElement.setAttribute("aria-sort", order);
    }
  };

  // All columns hold numbers except the first and those in `worded`. A caption, a heading or a cell is a string, an
  // element, or a list of these.
  const grid = (caption, head, lines, worded = []) => {
    const side = (place) => (place === 0 ? {} : { class: worded.includes(place) ? "text" : "n" });
    const heading = make("tr");
    for (const [place, text] of head.entries()) {
      heading.append(make("th", { scope: "col", dir: "auto", ...side(place) }, ...[text].flat()));
    }
    const content = make("tbody");
    for (const cells of lines) {
      const tr = make("tr", {}, make("th", { scope: "row", dir: "auto" }, ...[cells[0]].flat()));
      for (const [place, value] of cells.entries()) {
        if (place > 0) tr.append(make("td", { dir: "auto", ...side(place) }, ...[value].flat()));
      }
      content.append(tr);
    }
    const title = make("caption", {}, ...[caption].flat());
    const whole = make("table", {}, title, make("thead", {}, heading), content);
    return make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": title.textContent }, whole);
  };
  const gauge = (value, largest) => {
    const width = largest > 0 ? (6 * Math.abs(value)) / largest : 0;
    const bar = make("span", { class: value < 0 ? "share minus" : "share", "aria-hidden": "true" });
    bar.style.width = `${width.toFixed(2)}rem`;
    return make("span", { class: "gauge" }, signed(value), make("span", {}, bar));
  };
  const mixOf = (number) => {
    const { samples } = data.prototypes[number];
    const named = samples.slice(0, 3).flatMap((one, place) => {
      return [place ? ", " : "", isolate(one.sample), ` (${percent(one.share)})`];
    });
    return samples.length > 3 ? [...named, ` and ${samples.length - 3} more`] : named;
  };

  const said = (words) => {
    const lines = words.split("\n").map((text) => {
      return make("p", { dir: "auto", ...(text.startsWith("  ") ? { class: "deeper" } : {}) }, text.trim());
    });
    return make("div", { class: "said" }, ...lines);
  };
  const probabilities = (reasons) => {
    const order = data.classes.map((_, place) => place);
    order.sort((a, b) => reasons.probabilities[b] - reasons.probabilities[a]);
    const lines = order.slice(0, 6).map((place) => [
      String(data.classes[place]),
      percent(reasons.probabilities[place], 1),
      digits(reasons.scores[place], 4),
    ]);
    const of = order.length > 6 ? `, the first 6 of ${order.length}` : "";
    return grid(`Classes${of}`, ["Class", "Probability", isByVotes ? "Score (similarity)" : "Score (share of the code)"], lines);
  };
  const prototypes = (reasons) => {
    const lines = reasons.prototypes.map((one) => [
      `Prototype ${one.prototype}`,
      String(data.prototypes[one.prototype].class),
      percent(one.share, 1),
      digits(one.similarity, 3),
      ...(isByVotes ? [digits(one.bonus, 2)] : []),
      mixOf(one.prototype),
    ]);
    const head = ["Prototype", "For", `Share of the ${voting}`, "Similarity", ...(isByVotes ? ["Bonus"] : []), "Training samples"];
    const rest = reasons.other_prototypes;
    if (rest.n) lines.push([`${rest.n} others`, "", percent(rest.share, 1), ...head.slice(3).map(() => "")]);
    return grid("Who speaks for which class", head, lines, [head.length - 1]);
  };
  const values = (reasons) => {
    // The training sample with the largest share in each of the first prototypes.
    const beside = reasons.prototypes.slice(0, 3).map((one) => data.prototypes[one.prototype]);
    const heads = beside.map(({ samples: [first] }) => {
      return ["Training sample ", isolate(first.sample), " (", isolate(first.class), ")"];
    });
    const head = [Feature, "This sample", ...heads];
    const lines = reasons.features.map((one) => [
      data.features[one.feature].name,
      cell(one.value),
      ...beside.map((prototype) => cell(prototype.cells[one.feature])),
    ]);
    return grid("Its values compared with training samples", head, lines);
  };
  const contributions = (reasons) => {
    const winner = String(data.classes[reasons.winner]);
    const second = String(data.classes[reasons.runner_up]);
    const shown = [...reasons.features, reasons.other_features];
    const largest = Math.max(...shown.map((one) => Math.abs(one.winner - one.runner_up)));
    const lines = reasons.features.map((one) => [
      data.features[one.feature].name,
      signed(one.winner),
      signed(one.runner_up),
      gauge(one.winner - one.runner_up, largest),
    ]);
    const rest = reasons.other_features;
    if (rest.n) {
      lines.push([`${rest.n} others`, signed(rest.winner), signed(rest.runner_up), gauge(rest.winner - rest.runner_up, largest)]);
    }
    const [a, b] = [reasons.scores[reasons.winner], reasons.scores[reasons.runner_up]];
    lines.push(["Sum", digits(a, 4), digits(b, 4), signed(a - b)]);
    const unit = isByVotes ? ", in units of similarity" : "";
    const caption = [`What each ${data.feature_word} adds to the scores of `, isolate(winner), " and ", isolate(second), unit];
    return grid(caption, [Feature, winner, second, "Difference"], lines);
  };
  const fullTable = (reasons) => {
    const { table: cut } = reasons;
    const head = [Feature, ...cut.prototypes.map((number) => `Prototype ${number}`)];
    if (cut.n_other_prototypes) head.push(`${cut.n_other_prototypes} others`);
    const columns = cut.n_other_prototypes ? cut.values : cut.values.slice(0, -1);
    const labels = reasons.features.map((one) => data.features[one.feature].name);
    if (cut.n_other_features) labels.push(`${cut.n_other_features} others`);
    const lines = labels.map((label, place) => [label, ...columns.map((column) => signed(column[place]))]);
    const sums = columns.map((column) => column.reduce((sum, value) => sum + value, 0));
    lines.push(["Sum", ...sums.map(signed)]);
    const [winner, second] = [reasons.winner, reasons.runner_up].map((place) => isolate(data.classes[place]));
    return grid(["The lead of ", winner, " over ", second, ` by ${data.feature_word} and prototype`], head, lines);
  };

  const SVG = "http://www.w3.org/2000/svg";
  const draw = (tag, attributes) => {
    const element = document.createElementNS(SVG, tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    return element;
  };
  // A series whose time steps are shaded by their share.
  const overTime = (channel) => {
    const [width, height] = [320, 64];
    const end = Math.max(channel.end, 1);
    const largest = Math.max(...channel.steps);
    const place = channel.steps.indexOf(largest);
    const about = Math.round(channel.starts[place]);
    const text = `: ${percent(channel.share)} of the similarity, most of it near step ${about}.`;
    const svg = draw("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": channel.name + text, class: "time" });
    channel.starts.forEach((start, span) => {
      const stop = span + 1 < channel.starts.length ? channel.starts[span + 1] : end;
      const box = { x: (start / end) * width, y: 0, width: Math.max(1, ((stop - start) / end) * width), height };
      svg.append(draw("rect", { ...box, fill: "#E69F00", "fill-opacity": (0.85 * channel.steps[span]) / largest }));
    });
    if (channel.line) {
      const known = channel.line.values.filter((value) => typeof value === "number");
      const [low, high] = [Math.min(...known), Math.max(...known)];
      let path = "";
      channel.line.values.forEach((value, step) => {
        if (typeof value !== "number") return;
        const x = (channel.line.times[step] / end) * width;
        const y = height - 6 - ((value - low) / (high - low || 1)) * (height - 12);
        path += `${path ? "L" : "M"}${x.toFixed(1)},${y.toFixed(1)}`;
      });
      svg.append(draw("path", { d: path, fill: "none", stroke: "#1f2328", "stroke-width": 1.4 }));
    }
    return make("figure", {}, svg, make("figcaption", {}, isolate(channel.name), text));
  };

  const explain = (place) => {
    const row = rows[place];
    const { reasons } = row;
    chosen = place;
    find("explanation-title").replaceChildren("Why sample ", isolate(row.sample), " is ", isolate(row.predicted));
    const parts = [];
    if (reasons === null) {
      parts.push(make("p", { class: "absent" }, `This sample has no explanation here. Use model.explain(X[${row.row}:${row.row + 1}]).`));
    } else {
      if (row.right === false) parts.push(make("p", { class: "flags" }, "Wrong: the true class is ", isolate(row.true), "."));
      parts.push(said(reasons.words), probabilities(reasons));
      if (reasons.prototypes.length) parts.push(prototypes(reasons));
      if (data.kind === "columns" && reasons.prototypes.length) parts.push(values(reasons));
      parts.push(contributions(reasons), fullTable(reasons));
      if (reasons.time && reasons.time.length) {
        parts.push(make("h4", {}, "When it resembles its prototypes"), ...reasons.time.map(overTime));
      }
      const side = row.is_novel ? "above" : "within";
      parts.push(make("p", {}, `Novelty ${row.novelty.toFixed(2)}, ${side} the usual maximum of ${data.threshold.toFixed(2)}.`));
    }
    find("explanation-body").replaceChildren(...parts);
    find("explanation").hidden = false;
    show();
    find("explanation-title").focus();
    find("explanation").scrollIntoView({ block: "start" });
  };
  const close = () => {
    if (find("explanation").hidden) return;
    find("explanation").hidden = true;
    const line = body.querySelector(`tr[data-place="${chosen}"]`);
    chosen = null;
    line?.classList.remove("chosen");
    // The row may be on another page by now.
    (line?.querySelector("button") ?? find("search")).focus();
  };

  table.tHead.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (!button) return;
    const { key } = button.dataset;
    state.sign = state.key === key ? -state.sign : 1;
    state.key = key;
    state.page = 0;
    show();
  });
  body.addEventListener("click", (event) => {
    const tr = event.target.closest("tr");
    if (tr) explain(Number(tr.dataset.place));
  });
  const restart = (change) => (event) => {
    change(event.target);
    state.page = 0;
    show();
  };
  find("search").addEventListener("input", restart((input) => { state.query = input.value; }));
  find("only-wrong")?.addEventListener("change", restart((input) => { state.onlyWrong = input.checked; }));
  find("only-novel").addEventListener("change", restart((input) => { state.onlyNovel = input.checked; }));
  find("previous").addEventListener("click", () => { state.page -= 1; show(); });
  find("next").addEventListener("click", () => { state.page += 1; show(); });
  find("close").addEventListener("click", close);
  document.querySelector("form.controls").addEventListener("submit", (event) => event.preventDefault());
  document.addEventListener("keydown", (event) => { if (event.key === "Escape") close(); });
  window.addEventListener("beforeprint", () => {
    state.size = PRINTED;
    show();
    for (const part of document.querySelectorAll("details")) part.open = true;
  });
  window.addEventListener("afterprint", () => {
    state.size = PAGE;
    show();
    for (const part of document.querySelectorAll("details")) part.open = false;
  });

  for (const part of document.querySelectorAll(".controls, #samples > .scroll, .pager")) part.hidden = false;
  show();
})();
