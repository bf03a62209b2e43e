"use strict";
// Send a message, show the answer while it streams in, and list the memories it is based on below it.
const talk = document.getElementById("talk"), compose = document.querySelector(".compose");
const field = compose?.querySelector("textarea"), send = compose?.querySelector("button");

function add(role, name) {
  const item = talk.appendChild(document.createElement("li"));
  item.className = `said ${role}`;
  item.appendChild(document.createElement("p")).className = "meta";
  item.firstChild.appendChild(document.createElement("b")).textContent = name;
  const words = item.appendChild(document.createElement("p"));
  words.className = "value";
  item.scrollIntoView({ block: "nearest" });
  return words;
}

async function* events(reply) {
  const reader = reply.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (let read = await reader.read(); !read.done; read = await reader.read()) {
    const parts = (rest + read.value).split("\n\n");
    rest = parts.pop();
    for (const part of parts) {
      const [, name, data] = /^event: (\w+)\ndata: (.*)$/s.exec(part) ?? [];
      if (name) { yield [name, JSON.parse(data)]; }
    }
  }
}

function fail(words, problem) {
  const alert = words.parentNode.appendChild(document.createElement("p"));
  alert.className = "problem";
  alert.setAttribute("role", "alert");
  alert.textContent = [problem.detail, problem.hint].filter(Boolean).join("; ") || send.dataset.broken;
}

async function answer(reply, words) {
  if (!reply.ok) { return fail(words, await reply.json()); }
  let ended = false;
  for await (const [name, value] of events(reply)) {
    ended ||= name !== "piece";
    if (name === "piece") { words.textContent += value.text; }
    if (name === "error") { fail(words, value); }
    if (name === "done") { words.after(...new DOMParser().parseFromString(value.html, "text/html").body.children); }
    words.parentNode.scrollIntoView({ block: "nearest" });
  }
  if (!ended) { fail(words, {}); }
}

async function post(form) {
  return fetch(form.action, { method: "POST", body: new URLSearchParams(new FormData(form)) });
}

compose?.addEventListener("submit", async (event) => {
  event.preventDefault();
  if (send.disabled || !field.value.trim()) { return; }
  const asked = post(compose), address = new URL(compose.action);
  address.searchParams.set("session", compose.elements.session.value);
  history.replaceState(null, "", address);  // Back and reload show this conversation again
  add("user", send.dataset.asks).textContent = field.value;
  const words = add("assistant", send.dataset.answers);
  field.value = "";
  send.disabled = true;
  try { await answer(await asked, words); } catch { fail(words, {}); }
  send.disabled = false;
  field.focus();
});
field?.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && !event.shiftKey && !event.isComposing) { event.preventDefault(); compose.requestSubmit(); }
});
// Correct or forget a listed memory in place.
talk?.addEventListener("submit", async (event) => {
  event.preventDefault();
  const form = event.target, row = form.closest(".row"), button = form.querySelector("button");
  const text = form.elements.text?.value;
  const reply = await post(form);
  if (!reply.ok) { return fail(row.querySelector(".text"), await reply.json()); }
  const line = row.querySelector(".text");
  line.textContent = text ?? "";
  row.querySelector(".amend").replaceChildren(button.dataset.done);
});
