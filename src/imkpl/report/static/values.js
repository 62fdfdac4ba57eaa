// The form of a page about values: what the model says of a case that is typed in.
"use strict";
(() => {
  const { form: model } = JSON.parse(document.getElementById("data").textContent);
  const place = document.getElementById("own-form");
  const answer = document.getElementById("own-answer");
  if (!model || !place) return;
  const { predictValue, show } = imkplPredictor;
  const make = (tag, text = "", parent = null) => {
    const found = document.createElement(tag);
    found.textContent = text;
    if (parent) parent.append(found);
    return found;
  };
  const digits = (value) => show(Number(value.toPrecision(4)));
  const first = model.support[0].cells;
  const inputs = model.features.map((feature, i) => {
    const label = make("label", feature.name, place);
    const input = make(feature.kind === "number" ? "input" : "select", "", label);
    if (feature.kind === "number") {
      Object.assign(input, { type: "number", step: "any", value: first[i] ?? "" });
    } else {
      const options = feature.kind === "flag" ? ["no", "yes"] : feature.categories;
      for (const one of ["", ...options]) make("option", String(one), input);
      input.value = feature.kind === "flag" ? (first[i] ? "yes" : "no") : String(first[i] ?? "");
    }
    return input;
  });
  const read = (input, i) => {
    const feature = model.features[i];
    if (feature.kind === "flag") return input.value === "yes";
    if (input.value === "") return null;
    return feature.kind === "number" ? Number(input.value) : feature.categories.find((one) => String(one) === input.value) ?? input.value;
  };
  const say = () => {
    const cells = inputs.map(read);
    answer.replaceChildren();
    if (!model.takes_missing && cells.includes(null)) {
      make("p", "Fill all fields to have an answer.", answer);
      return;
    }
    const card = predictValue(model, cells);
    const { estimate, interval, middle, order } = card.value;
    const name = order ? `${order[Math.min(order.length - 1, Math.max(0, Math.round(estimate)))]} (${digits(estimate)})` : digits(estimate);
    make("p", name, answer).className = "value";
    const sides = [card.opposing, card.supporting].map((side) => `case ${side.case} (${show(side.label)})`);
    const range = interval ? `, 90% interval ${interval.map(digits).join(" to ")}` : "";
    make("p", `between ${sides.join(" and ")}${range}.`, answer);
    for (const note of [...card.notes, ...(card.doubt === "novel" ? ["Unlike the training data: do not rely on it."] : [])]) make("p", note, answer);
    const table = make("table", "", answer);
    const add = (head, number) => {
      const row = make("tr", "", table);
      make("th", head, row).scope = "row";
      make("td", number, row);
    };
    const signed = (number) => `${number < 0 ? "\u2212" : "+"}${digits(Math.abs(number))}`;
    add("the middle of both", digits(middle));
    for (const one of [...card.features, ...card.rest]) add(one.name, signed(one.for));
    add("estimate", digits(estimate));
  };
  place.addEventListener("input", say);
  say();
})();
