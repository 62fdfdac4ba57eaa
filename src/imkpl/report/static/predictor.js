// Predicts and explains one case from the dict of imkpl/report/summarize.py, as imkpl does in Python.
//
//   imkplPredictor.predict(model, cells) -> the dict of a case card
//
// `cells` has one entry per feature: a number, a category, or null for a missing cell. The result
// has the entries of CaseCard.to_dict() and "probabilities", one per class. No DOM, no state.
"use strict";
const imkplPredictor = (() => {
  const [UNNAMED, MOST_NAMED, LONGEST_NUMBER] = [0.1, 3, 6];
  const [CLOSE, UNSURE, SMALL, ALIKE] = [1 / 3, 0.5, 0.1, 0.5];
  const [LEAST_SIMILARITY, SAME, FAR] = [0.005, 1e-9, 0.75];
  const [LEAST_LEAD, MOST_TRIED, TRIED_AT_ONCE, MOST_PAIRED] = [1e-6, 100, 2 ** 18, 8];

  const sum = (values) => values.reduce((total, value) => total + value, 0);
  const zeros = (n) => new Float64Array(n);
  const range = (n) => Array.from({ length: n }, (_, place) => place);
  const largestAt = (values) => values.reduce((best, value, i) => (value > values[best] ? i : best), 0);
  // Places of the largest values first; equal ones in their order.
  const orderDown = (values) => range(values.length).sort((a, b) => values[b] - values[a]);

  const compareCells = (kernel, a, b) => {
    if (kernel.order && kernel.order.includes(a) && kernel.order.includes(b) && a !== null && b !== null) {
      const steps = (kernel.order.indexOf(a) - kernel.order.indexOf(b)) * kernel.rate;
      return Math.exp(-steps * steps);
    }
    if (kernel.kind === "category") return kernel.rate === 0 || a === b ? 1 : 0;
    if (kernel.kind === "missing") return kernel.rate === 0 || (a === null) === (b === null) ? 1 : 0;
    const scaled = ((a === null ? kernel.fill : a) - (b === null ? kernel.fill : b)) * kernel.rate;
    return Math.exp(-scaled * scaled);
  };
  // Weighted likeness of one feature of a case and of every support sample.
  const compareFeature = (model, feature, cell) => {
    const found = zeros(model.support.length);
    for (const kernel of model.kernels) {
      if (kernel.feature !== feature) continue;
      model.support.forEach((other, i) => {
        const isGap = cell === null && kernel.expected;
        found[i] += kernel.weight * (isGap ? kernel.expected[i] : compareCells(kernel, cell, other.cells[feature]));
      });
    }
    return found;
  };
  // The same with every prototype, and with prototypes minus contrasts.
  const total = (samples, parts, values) => sum(samples.map((i, k) => parts[k] * values[i]));
  const mix = (model, values) => Float64Array.from(model.prototypes, (one) => total(one.samples, one.parts, values));
  const contrast = (model, values) => mix(model, values).map((value, j) =>
    value - total(model.prototypes[j].contrast_samples, model.prototypes[j].contrast_parts, values));

  // Logarithms of the votes for every class, and every prototype's share of its class.
  const vote = (model, resemblances) => {
    const logs = model.prototypes.map((one, j) => model.sharpness * (resemblances[j] + one.bonus));
    const highest = model.classes.map(() => -Infinity);
    model.prototypes.forEach((one, j) => { highest[one.class] = Math.max(highest[one.class], logs[j]); });
    const sums = model.classes.map(() => 0);
    const votes = model.prototypes.map((one, j) => Math.exp(logs[j] - highest[one.class]));
    model.prototypes.forEach((one, j) => { sums[one.class] += votes[j]; });
    return {
      totals: model.classes.map((_, c) => highest[c] + Math.log(sums[c])),
      parts: votes.map((one, j) => one / sums[model.prototypes[j].class]),
    };
  };

  const inner = (model, i, j) => (i > j ? model.prototypes[i].gram[j] : model.prototypes[j].gram[i]);
  // Solves the inner products of some prototypes for a right-hand side, by elimination.
  const solve = (model, chosen, right) => {
    const rows = chosen.map((i, k) => [...chosen.map((j) => inner(model, i, j)), right[k]]);
    const n = chosen.length;
    for (let p = 0; p < n; p += 1) {
      for (let q = p + 1; q < n; q += 1) {
        const factor = rows[q][p] / rows[p][p];
        for (let k = p; k <= n; k += 1) rows[q][k] -= factor * rows[p][k];
      }
    }
    const x = zeros(n);
    for (let p = n - 1; p >= 0; p -= 1) {
      x[p] = rows[p][n];
      for (let k = p + 1; k < n; k += 1) x[p] -= rows[p][k] * x[k];
      x[p] /= rows[p][p];
    }
    return x;
  };
  // Non-negative least squares by an active set: how much of each prototype rebuilds a case.
  const rebuild = (model, linear) => {
    const code = zeros(linear.length);
    const limit = 1e-10 * Math.max(...linear.map(Math.abs));
    const useless = new Set();
    let active = [];
    while (active.length < model.sparsity) {
      const slope = (j) => linear[j] - sum(active.map((i) => inner(model, i, j) * code[i]));
      const open = range(linear.length).filter((j) => !active.includes(j) && !useless.has(j) && slope(j) > limit);
      if (open.length === 0) break;
      const next = open[largestAt(open.map(slope))];
      let chosen = [...active, next];
      let x = solve(model, chosen, chosen.map((j) => linear[j]));
      if (!(x[chosen.length - 1] > 0)) { useless.add(next); continue; }
      while (x.some((value) => value <= 0)) {
        // As far as all stay non-negative; whoever reaches zero leaves.
        const steps = chosen.map((j, p) => (x[p] <= 0 ? code[j] / (code[j] - x[p]) : 1));
        const step = Math.min(...steps);
        chosen.forEach((j, p) => { code[j] += step * (x[p] - code[j]); });
        chosen = chosen.filter((j, p) => !(x[p] <= 0 && steps[p] === step));
        x = solve(model, chosen, chosen.map((j) => linear[j]));
      }
      code.fill(0);
      chosen.forEach((j, p) => { code[j] = x[p]; });
      active = chosen;
      useless.clear();
    }
    return code;
  };

  // Numbers and values as Python writes them.
  const general = (value) => {
    if (value === 0) return "0";
    const [mantissa, power] = value.toExponential(3).split("e");
    const trim = (text) => (text.includes(".") ? text.replace(/\.?0+$/, "") : text);
    const exponent = Number(power);
    if (exponent >= -4 && exponent < 4) return trim(value.toFixed(3 - exponent));
    return `${trim(mantissa)}e${exponent < 0 ? "-" : "+"}${String(Math.abs(exponent)).padStart(2, "0")}`;
  };
  const show = (value) => {
    if (typeof value === "boolean") return value ? "yes" : "no";
    if (typeof value !== "number") return String(value);
    if (Math.abs(value) >= 1e-4 && Math.abs(value) < 1e6 && String(Math.abs(value)).length <= LONGEST_NUMBER) return String(value);
    return Math.abs(value) >= 1e4 && Math.abs(value) < 1e10 ? value.toFixed(0) : general(value);
  };
  const write = (value) => (typeof value === "boolean" ? (value ? "True" : "False") : String(value));
  const percent = (share, digits = 0) => {
    if (digits === 0 && share > 0 && share < 0.005) return "less than 1%";
    return digits === 0 && share >= 0.995 && share < 1 ? "over 99%" : `${(100 * share).toFixed(digits)}%`;
  };

  const signed = (add) => `${add < -0.0005 ? "-" : "+"}${Math.abs(add).toFixed(3)}`;

  const placeOutside = (feature, cell) => {
    if (cell === null || feature.kind === "flag") return null;
    if (feature.categories) {
      return feature.categories.length + feature.knows_missing < 2 || feature.categories.includes(cell) ? null : "unseen";
    }
    const [low, high] = feature.range;
    if (low === null || (cell >= low && cell <= high)) return null;
    const isFar = Math.abs(cell - (low + high) / 2) > (0.5 + FAR) * (high - low);
    return `${isFar ? "far " : ""}${cell < low ? "below" : "above"}`;
  };

  // The weight of kernels that miss their cell, and the likeness by the others alone.
  const findGaps = (model, cells) =>
    model.kernels.filter((kernel) => kernel.expected && cells[kernel.feature] === null);
  const findNearest = (gaps, nearness) => {
    const rest = Math.max(1 - sum(gaps.map((kernel) => kernel.weight)), 1e-9);
    return Math.max(...nearness.map((value, i) => (value - sum(gaps.map((kernel) => kernel.weight * kernel.expected[i]))) / rest));
  };

  const isBlank = (model, cells) =>
    cells.every((cell, i) => cell === null || (cell && model.features[i].kind === "flag"));

  const describeDoubt = (model, cells, answer, runnerUp, nearest, novelty, isFragile) => {
    if (isBlank(model, cells)) {
      return ["no evidence", `All that the model reads is missing: ${write(answer.label)} is what it says without any evidence.`];
    }
    const missing = sum(findGaps(model, cells).map((kernel) => kernel.weight));
    if (missing > model.max_missing) {
      const [share, most] = [missing, model.max_missing].map((one) => percent(one));
      return ["no evidence", `No answer: ${share} of the weight is missing, more than ${most}. ${write(answer.label)} is a guess (max_missing=1 allows it).`];
    }
    if (nearest < LEAST_SIMILARITY) {
      return ["no evidence", "It resembles none of the prototypes: only their bonuses decide."];
    }
    if (novelty > model.novelty_threshold) {
      const text = `Unlike the training data: novelty ${novelty.toFixed(2)}, usually at most ${model.novelty_threshold.toFixed(2)}.`;
      return ["novel", `${text} Do not rely on the answer.`];
    }
    const [other, chance] = [write(runnerUp.label), percent(runnerUp.probability)];
    const how = answer.hasStakes ? ", as mistakes count" : "";
    if (isFragile) return ["close", `Close${how}: a small change makes it ${other} (${chance}).`];
    if (answer.counted < UNSURE || runnerUp.counted >= CLOSE * answer.counted) {
      return ["close", `Close${how}: ${other} is possible as well (${chance}).`];
    }
    return ["clear", `Clear${how}: ${other}, the next, has ${chance}.`];
  };

  const writeNotes = (model, cells, outside, code, winner, doubt) => {
    const notes = [];
    outside.forEach((where, i) => {
      if (where === null) return;
      const { name, range: limits } = model.features[i];
      notes.push(
        where === "unseen"
          ? `${name} = ${show(cells[i])} did not occur in training.`
          : `${name} = ${show(cells[i])} is ${where} all training values (${limits.map(show).join(" to ")}).`,
      );
    });
    const missing = model.features.filter((_, i) => cells[i] === null).map((feature) => feature.name);
    if (missing.length > 0 && !isBlank(model, cells)) {
      const more = missing.length > MOST_NAMED ? ` and ${missing.length - MOST_NAMED} more` : "";
      const named = missing.slice(0, MOST_NAMED).join(", ");
      const share = sum(model.kernels.filter((one) => cells[one.feature] === null).map((one) => one.weight));
      notes.push(`Missing, ${missing.length} of ${cells.length} values that the model reads: ${named}${more} (${percent(share)} of the weight).`);
    }
    const amounts = model.classes.map(() => 0);
    model.prototypes.forEach((one, j) => { amounts[one.class] += code[j] * one.total; });
    const total = sum(amounts);
    const most = largestAt(amounts);
    if (!model.is_value && doubt !== "no evidence" && total > 0 && amounts[winner] < amounts[most]) {
      notes.push(`Rebuilt from prototypes of all classes, it takes most from those of ${write(model.classes[most])}.`);
    }
    return notes;
  };

  // What of a model does not depend on the case: the weights of features, support samples and
  // features to try as changes, and the similarities that these give.
  const prepared = new WeakMap();
  const prepare = (model) => {
    if (prepared.has(model)) return prepared.get(model);
    const weights = zeros(model.features.length);
    for (const kernel of model.kernels) weights[kernel.feature] += kernel.weight;
    const largest = zeros(model.support.length);
    for (const one of model.prototypes) {
      one.samples.forEach((i, k) => { largest[i] = Math.max(largest[i], one.parts[k]); });
      one.contrast_samples.forEach((i, k) => { largest[i] = Math.max(largest[i], one.contrast_parts[k]); });
    }
    const rows = orderDown(largest).slice(0, MOST_TRIED).sort((a, b) => a - b);
    const width = Math.max(1, Math.floor(TRIED_AT_ONCE / (rows.length * model.prototypes.length)));
    const features = orderDown(weights).slice(0, width);
    const values = rows.map((row) =>
      features.map((feature) => contrast(model, compareFeature(model, feature, model.support[row].cells[feature]))));
    prepared.set(model, { weights, tried: { rows, features, values } });
    return prepared.get(model);
  };
  const lead = (model, resemblances, winner) => {
    const { totals } = vote(model, resemblances);
    const others = totals.map((value, c) => (c === winner ? -Infinity : value));
    const to = largestAt(others);
    return { gain: (others[to] - totals[winner]) / model.sharpness, to };
  };
  const roundEven = (value) => {
    const low = Math.floor(value);
    return value - low === 0.5 ? low + (low % 2) : Math.round(value);
  };
  // Changes of the features that gain most; none is both larger and worse than another one.
  const keepEfficient = (options) => {
    const byFeature = new Map();
    for (const option of options) {
      if (!byFeature.has(option.i)) byFeature.set(option.i, []);
      byFeature.get(option.i).push(option);
    }
    const best = [...byFeature.keys()].sort((a, b) => a - b)
      .map((i) => [i, Math.max(...byFeature.get(i).map((one) => one.gain))])
      .sort((a, b) => b[1] - a[1]).slice(0, MOST_PAIRED);
    return best.flatMap(([i]) => {
      let highest = -Infinity;
      const own = byFeature.get(i).sort((a, b) => a.size - b.size).filter((one) => {
        const isBetter = one.gain > highest;
        highest = Math.max(highest, one.gain);
        return isBetter;
      });
      const n = Math.min(own.length, MOST_PAIRED);
      return range(n).map((k) => own[n === 1 ? 0 : roundEven((k * (own.length - 1)) / (n - 1))]);
    });
  };
  const findChange = (model, cells, before, parts, alike, winner) => {
    const { rows, features, values } = prepare(model).tried;
    const options = [];
    rows.forEach((row, place) => {
      features.forEach((feature, i) => {
        const cell = model.support[row].cells[feature];
        if (cell === null || cell === cells[feature]) return;
        const step = values[place][i].map((value, j) => value - parts[feature][j]);
        const changed = before.map((value, j) => value + step[j]);
        const size = 1 - alike[feature][row];
        options.push({ i, feature, cell, step, size, ...lead(model, changed, winner) });
      });
    });
    const smallest = (tries) => {
      let best = null;
      for (const chosen of tries) {
        const size = sum(chosen.map((one) => one.size));
        if (best && size >= best.size) continue;
        const changed = before.map((value, j) => value + sum(chosen.map((one) => one.step[j])));
        const { gain, to } = lead(model, changed, winner);
        if (gain > LEAST_LEAD) best = { size, to, chosen };
      }
      return best && {
        to: model.classes[best.to],
        features: best.chosen.map(({ feature, cell }) => ({ name: model.features[feature].name, from: cells[feature], to: cell })),
      };
    };
    const isSmall = ({ feature, cell }) => {
      const [low, high] = model.features[feature].range;
      return [cell, cells[feature], low].every((one) => typeof one === "number") && Math.abs(cell - cells[feature]) <= SMALL * (high - low);
    };
    const isFragile = options.some((one) => one.gain > LEAST_LEAD && isSmall(one));
    // One change at a time; pairs only where none of these is enough.
    const single = smallest(options.filter((one) => one.gain > LEAST_LEAD).map((one) => [one]));
    if (single) return [single, isFragile];
    const kept = keepEfficient(options);
    return [smallest(kept.flatMap((left, k) => kept.slice(k + 1).filter((right) => right.i !== left.i).map((right) => [left, right]))), isFragile];
  };

  // The fewest features, largest first, that leave little of the lead to the others together.
  const chooseRows = (adds, names, margin, rest) => {
    const sorted = orderDown(adds.map(Math.abs));
    const isNeeded = (i) => i === sorted[0] || names.includes(i);
    const order = [...sorted.filter(isNeeded), ...sorted.filter((i) => !isNeeded(i))];
    const largest = Math.max(...[adds[sorted[0]], ...rest].map(Math.abs));
    const all = sum(order.map((i) => adds[i]));
    let named = 0;
    const told = order.findIndex((i, k) => {
      named += adds[i];
      const left = Math.abs(all - named);
      return k + 1 >= sorted.filter(isNeeded).length && left <= UNNAMED * margin && left < largest && (named > 0) === (all > 0);
    });
    const shown = told < 0 || told === order.length - 2 ? order : order.slice(0, told + 1);
    return sorted.filter((i) => shown.includes(i));
  };
  // What adds to the lead besides features, and what decides where these speak against the answer.
  const listRest = (model, winner, runnerUp, adds) => [
    ["bonus", "head start of ", adds.bonus],
    ["costs", `${model.head_start_word}, for `, adds.costs],
    ["prototypes", "several prototypes of ", adds.several],
  ].filter(([, , add]) => Math.abs(add) >= SAME)
    .map(([kind, name, add]) => ({ kind, name: `${name}${write(model.classes[add > 0 ? winner : runnerUp])}`, for: add }));
  const writeDecisive = (features, rest, other, doubt) => {
    const total = sum(features.map((feature) => feature.for));
    const names = rest.filter((row) => row.for > 0 && row.kind !== "features").map((row) => row.name);
    if (total > 0 || names.length === 0 || doubt === "no evidence") return [];
    return [`The features speak for ${write(other)} (${signed(total)}). What decides: ${names.join(", ")}.`];
  };

  const predict = (model, cells, name = "") => {
    const { weights } = prepare(model);
    const likeness = model.features.map((_, i) => compareFeature(model, i, cells[i]));
    const parts = likeness.map((values) => contrast(model, values));
    const nearness = model.support.map((_, i) => sum(likeness.map((values) => values[i])));
    const [similarities, resemblances] = [mix(model, nearness), contrast(model, nearness)];
    const alike = likeness.map((values, i) => values.map((value) => value / weights[i]));

    const { totals, parts: votes } = vote(model, resemblances);
    const second = [...totals].sort((a, b) => b - a)[1];
    const scores = totals.map((total) => (total - second) / model.sharpness);
    const winner = largestAt(scores);
    // Costs decide; they do not change how probable a class is.
    const plain = scores.map((score, c) => score - model.head_starts[c] + model.prior_starts[c]);
    const soften = (values) => {
      const chances = values.map((score) => Math.exp(model.temperature * (score - Math.max(...values))));
      return chances.map((chance) => chance / sum(chances));
    };
    // How probable classes are, and the same times what it costs to miss them.
    const [probabilities, counted] = [plain, scores].map(soften);
    const stakes = model.head_starts.map((start, c) => start - model.prior_starts[c]);
    const hasStakes = model.temperature * (Math.max(...stakes) - Math.min(...stakes)) > SAME;
    const runnerUp = largestAt(scores.map((value, c) => (c === winner ? -Infinity : value)));
    const describe = (label) => ({ label: model.classes[label], probability: probabilities[label], counted: counted[label], hasStakes });

    // The sample of a mix that is nearest to the case; of equally near ones the largest part.
    const nearestOf = (samples, mixed) => orderDown(mixed)
      .reduce((best, k) => (Math.round(nearness[samples[k]] / SAME) > Math.round(nearness[samples[best]] / SAME) ? k : best), orderDown(mixed)[0]);
    // The strongest prototype of a class, with the nearest samples that it is like and unlike.
    const strongest = (label) => {
      const own = range(model.prototypes.length).filter((j) => model.prototypes[j].class === label);
      const shares = own.map((j) => votes[j] * probabilities[label]);
      const best = largestAt(shares.some((share) => share > 0) ? shares : own.map((j) => similarities[j]));
      const [prototype, share] = [own[best], shares[best]];
      const { samples, parts: mixed, total: whole, contrast_samples: others, contrast_parts } = model.prototypes[prototype];
      const name = (place, all) => ({ case: model.support[place].case, label: model.support[place].label, n_cases: all.length });
      const near = nearestOf(samples, mixed);
      const [place, similarity] = [samples[near], similarities[prototype]];
      const unlike = others.length === 0 ? null
        : { ...name(others[nearestOf(others, contrast_parts)], others), similarity: similarity - resemblances[prototype] };
      return { place, shown: { ...name(place, samples), prototype, part: mixed[near] / whole, similarity, share, unlike } };
    };
    const [supporting, opposing] = [winner, runnerUp].map(strongest);

    const outside = model.features.map((feature, i) => placeOutside(feature, cells[i]));
    // A mean over the prototypes of the answer, minus that over the runner-up's.
    const ahead = (of) => sum(model.prototypes.map((one, j) => {
      const sign = one.class === winner ? 1 : one.class === runnerUp ? -1 : 0;
      return sign * votes[j] * of(one, j);
    }));
    const adds = parts.map((part) => ahead((_, j) => part[j]));
    const near = (i, { place }) => {
      const isSame = cells[i] !== null && cells[i] === model.support[place].cells[i];
      return isSame || alike[i][place] >= ALIKE;
    };
    const [margin, costs] = [scores, model.head_starts].map((values) => values[winner] - values[runnerUp]);
    const bonus = ahead((one) => one.bonus) - costs;
    const nearest = Math.max(...similarities, ...similarities.map((value, j) => value - resemblances[j]));
    const code = rebuild(model, similarities);
    const isFar = outside.some((where) => where?.startsWith("far"));
    const novelty = isFar ? 1 : Math.min(1, Math.max(0, 1 - findNearest(findGaps(model, cells), nearness)));
    const [found, isFragile] = model.is_value ? [null, false] : findChange(model, cells, resemblances, parts, alike, winner);
    const changed = (found?.features ?? []).map((one) => model.features.findIndex((feature) => feature.name === one.name));
    const rest = listRest(model, winner, runnerUp, { bonus, costs, several: margin - bonus - costs - sum(adds) });
    const shown = chooseRows(adds, changed, margin, rest.map((row) => row.for));
    const features = shown.map((i) => ({
      name: model.features[i].name,
      value: cells[i],
      supporting: model.support[supporting.place].cells[i],
      opposing: model.support[opposing.place].cells[i],
      for: adds[i],
      near_supporting: near(i, supporting),
      near_opposing: near(i, opposing),
      evidence: model.features[i].evidence,
      outside: outside[i],
    }));
    const nHidden = adds.length - shown.length;
    if (nHidden > 0) {
      rest.unshift({ kind: "features", name: `${nHidden} other features`, for: sum(adds) - sum(features.map((feature) => feature.for)) });
    }
    const [doubt, doubtText] = describeDoubt(model, cells, describe(winner), describe(runnerUp), nearest, novelty, isFragile);
    return {
      case: name,
      answer: model.classes[winner],
      probability: probabilities[winner],
      runner_up: model.classes[runnerUp],
      runner_up_probability: probabilities[runnerUp],
      lead: margin,
      doubt,
      doubt_text: doubtText,
      supporting: supporting.shown,
      opposing: opposing.shown,
      features,
      rest,
      change: found,
      notes: [...(model.is_value ? [] : writeDecisive(features, rest, model.classes[runnerUp], doubt)), ...writeNotes(model, cells, outside, code, winner, doubt)],
      decision: "votes",
      series: null,
      pictures: null,
      value: null,
      probabilities,
      novelty,
    };
  };

  // A value: prototypes with levels above the estimate are one class, the others another.
  const predictValue = (model, cells, name = "") => {
    prepare(model);
    const resemblances = contrast(model, model.support.map((_, i) =>
      sum(model.features.map((_, f) => compareFeature(model, f, cells[f])[i]))));
    const logs = model.prototypes.map((one, j) => model.sharpness * (resemblances[j] + one.bonus));
    const votes = logs.map((one) => Math.exp(one - Math.max(...logs)));
    const { levels } = model;
    const estimate = total(range(votes.length), votes, levels) / sum(votes);
    const [lowest, highest] = [Math.min(...levels), Math.max(...levels)];
    const sides = levels.map((one) => ((one > estimate || one === highest) && one > lowest ? 1 : 0));
    const own = (side) => range(votes.length).filter((j) => sides[j] === side);
    const [down, up] = [0, 1].map((side) => sum(own(side).map((j) => votes[j])));
    const [low, high] = [[0, down], [1, up]].map(([side, all]) => sum(own(side).map((j) => votes[j] * levels[j])) / all);
    const lead = Math.log(up / down) / model.sharpness;
    const slope = Math.abs(lead) <= SAME ? model.sharpness / 2 : Math.tanh((model.sharpness * lead) / 2) / lead;
    const unit = ((high - low) / 2) * slope;
    const sided = { ...model, is_value: true, temperature: model.sharpness, prototypes: model.prototypes.map((one, j) => ({ ...one, class: sides[j] })) };
    const card = predict(sided, cells, name);
    const isUp = card.answer === model.classes[1];
    const add = (row) => ({ ...row, for: (isUp ? unit : -unit) * row.for });
    const turn = (one) => (isUp ? one : { ...one, supporting: one.opposing, opposing: one.supporting, near_supporting: one.near_opposing, near_opposing: one.near_supporting });
    return {
      ...turn({ supporting: card.supporting, opposing: card.opposing }),
      case: name,
      lead: unit * lead,
      features: card.features.map((one) => turn(add(one))),
      rest: card.rest.map(add),
      notes: card.notes,
      doubt: card.doubt === "close" ? "clear" : card.doubt,
      novelty: card.novelty,
      value: { estimate, interval: model.errors && model.errors.map((error) => estimate + error), low, high, middle: (low + high) / 2, order: model.order },
    };
  };

  return { predict, predictValue, show, percent };
})();
if (typeof module !== "undefined") module.exports = imkplPredictor;
