// The simulator's page. Every text of a person, a bot or the server goes through `textContent`: none of it
// is ever markup.

const FIRST_PEOPLE = 3;
const MOST_EVENTS = 200;
/** What the simulator takes, before base64 makes it a third larger. */
const MOST_FILE = 3 * 1024 * 1024;
/** A browser has six connections to one server, for all of its tabs. ms. */
const PATIENCE_MS = 10_000;
const FAULTS = {
  limit: 'too many requests',
  'lose-reply': 'lose the reply after accepting',
  duplicate: 'deliver twice',
  reorder: 'deliver in reverse',
  slow: 'answer after 3 s',
  disconnect: 'break connections',
};

const byId = (id) => document.getElementById(id);
const people = new Map();
const groups = new Map();
const bubbles = new Map();
let plays = { groups: false, files: false };

function personAt(number) {
  for (let next = people.size; next <= number; next += 1) {
    people.set(next, addChat(`Person ${next}`, `person ${next}`, sendTo(next)));
    for (const { author } of groups.values()) addAuthor(author, next);
  }
  return people.get(number);
}

/** A reload of the page begins with as many. */
function keepCounts() {
  sessionStorage.setItem(run, JSON.stringify([people.size, groups.size]));
}

function addAuthor(select, person) {
  const option = document.createElement('option');
  option.value = String(person);
  option.textContent = `Person ${person}`;
  select.append(option);
}

function groupAt(number) {
  for (let next = groups.size; next <= number; next += 1) groups.set(next, addGroup(next));
  return groups.get(number);
}

/** Words, or a file with words below it, to the bot alone. */
function sendTo(number) {
  return async (text, { file }) => {
    if (!file) return await post(`/people/${number}/messages`, { text });
    if (file.size > MOST_FILE) throw new Error('A file may have 3 MB here.');
    await post(`/people/${number}/files`, { name: file.name, type: file.type, base64: await base64Of(file), text });
  };
}

function addGroup(number) {
  const chat = addChat(`Group ${number}`, `group ${number}`, async (text) => {
    const [person, addressed] = [Number(chat.author.value), chat.addressed.checked];
    await post(`/groups/${number}/messages`, { person, text, addressed });
    if (!addressed) note('In a group the bot answers what is addressed to it; `gatehouse why last` tells why it was silent.');
  });
  for (const next of people.keys()) addAuthor(chat.author, next);
  for (const part of ['.author', '.addressed']) chat.section.querySelector(part).hidden = false;
  chat.section.querySelector('.file').hidden = true;
  return chat;
}

function addChat(title, name, send) {
  const section = byId('person').content.firstElementChild.cloneNode(true);
  const [form, text] = [section.querySelector('form'), section.querySelector('textarea')];
  section.querySelector('h2').textContent = title;
  const view = section.querySelector('.view');
  view.setAttribute('aria-label', `Chat of ${name}`);
  // What scrolls can be reached by the keyboard.
  view.tabIndex = 0;
  section.querySelector('.name').textContent = `Message of ${name}`;
  section.querySelector('.file').hidden = !plays.files;
  const chooser = section.querySelector('.file input');
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    const [written, file] = [text.value, chooser.files?.[0]];
    if (written.trim() === '' && !file) return;
    text.value = '';
    chooser.value = '';
    send(written.trim() === '' ? '' : written, { file }).catch((error) => {
      // What could not be sent is not lost: it stands where it was typed.
      text.value = written;
      if (file) chooser.files = filesOf(file);
      notice(error.message);
    });
  });
  text.addEventListener('keydown', (event) => {
    if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    form.requestSubmit();
  });
  byId('people').append(section);
  const [author, addressed] = [section.querySelector('.author select'), section.querySelector('.addressed input')];
  return { section, view, author, addressed, list: section.querySelector('.messages'), typing: section.querySelector('.typing') };
}

function filesOf(file) {
  const chosen = new DataTransfer();
  chosen.items.add(file);
  return chosen.files;
}

async function base64Of(file) {
  const bytes = new Uint8Array(await file.arrayBuffer());
  return btoa(bytes.reduce((text, byte) => text + String.fromCharCode(byte), ''));
}

function showMessage({ id, person, inGroup, author, by, text, at, edited }) {
  const { list, view } = inGroup ? groupAt(person) : personAt(person);
  let bubble = bubbles.get(id);
  if (!bubble) {
    const item = document.createElement('li');
    item.className = by === 'bot' ? 'bot-wrote' : 'person-wrote';
    bubble = { item, words: document.createElement('span'), time: document.createElement('small') };
    item.append(bubble.words, bubble.time);
    list.append(item);
    bubbles.set(id, bubble);
  }
  bubble.words.textContent = author === undefined ? text : `Person ${author}: ${text}`;
  bubble.time.textContent = `${new Date(at).toLocaleTimeString()}${edited ? ' edited' : ''}`;
  view.scrollTop = view.scrollHeight;
}

function removeMessage(id) {
  bubbles.get(id)?.item.remove();
  bubbles.delete(id);
}

function notice(text) {
  byId('notice').textContent = text;
  note(text);
}

/** A line of the log beside the chats: what a fault did stays to be read when the notice is gone. */
function note(text) {
  const item = document.createElement('li');
  item.textContent = `${new Date().toLocaleTimeString()} ${text}`;
  byId('log').append(item);
  while (byId('log').children.length > MOST_EVENTS) byId('log').firstElementChild.remove();
  byId('log-view').scrollTop = byId('log-view').scrollHeight;
}

async function post(path, body) {
  const response = await fetch(path, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(PATIENCE_MS),
  }).catch((error) => {
    const isLate = error.name === 'TimeoutError';
    throw new Error(
      isLate ? 'No answer for 10 s: is the page open in many windows?' : 'The simulator does not answer; is it still running?',
    );
  });
  if (response.ok) return;
  const { error } = await response.json();
  throw new Error(error.hint ? `${error.message}: ${error.hint}` : error.message);
}

function addFault(kind) {
  const button = document.createElement('button');
  button.type = 'button';
  button.textContent = FAULTS[kind] ?? kind;
  button.title = kind;
  button.addEventListener('click', () => {
    post('/faults', { kind, times: Number(byId('times').value) }).catch((error) => notice(error.message));
  });
  byId('faults').append(button, ' ');
}

/** Only while the page is seen: each stream holds one of the connections that all tabs share. */
function listen() {
  let events = document.hidden ? undefined : open();
  document.addEventListener('visibilitychange', () => {
    events?.close();
    events = document.hidden ? undefined : open();
  });
}

function open() {
  const events = new EventSource('/events');
  const on = (type, show) => events.addEventListener(type, (event) => show(JSON.parse(event.data)));
  events.addEventListener('open', () => {
    byId('connection').textContent = 'connected';
  });
  events.addEventListener('error', () => {
    byId('connection').textContent = 'the simulator does not answer; is it still running?';
  });
  // It was started anew: what stands here is of another one.
  on('run', ({ run: now }) => now === run || location.reload());
  on('message', ({ message }) => showMessage(message));
  on('present', ({ ids }) => {
    const present = new Set(ids);
    for (const id of bubbles.keys()) if (!present.has(id)) removeMessage(id);
  });
  on('removed', ({ id }) => removeMessage(id));
  on('fault', ({ kind, times }) => notice(`From now on: ${FAULTS[kind] ?? kind}, ${times === 1 ? 'once' : `${times} times`}.`));
  on('trouble', ({ text }) => notice(text));
  let held = 0;
  on('waiting', ({ waiting }) => {
    // Each change: a fault shows here as messages that stay.
    if (waiting !== held) note(`The platform holds ${waiting} for the bot.`);
    held = waiting;
    byId('waiting').textContent = String(waiting);
  });
  on('typing', ({ people: typing }) => {
    for (const [number, person] of people) person.typing.hidden = !typing.includes(number);
  });
  return events;
}

for (const id of ['people', 'log-view']) byId(id).tabIndex = 0;
byId('add').addEventListener('click', () => {
  personAt(people.size);
  keepCounts();
});
byId('add-group').addEventListener('click', () => {
  groupAt(groups.size);
  keepCounts();
});
const { run, channel, faults, letIn, plays: played } = await (await fetch('/messages')).json();
plays = played;
byId('add-group').hidden = !plays.groups;
const [keptPeople, keptGroups] = JSON.parse(sessionStorage.getItem(run) ?? `[${FIRST_PEOPLE},0]`);
personAt(keptPeople - 1);
if (keptGroups > 0) groupAt(keptGroups - 1);
byId('channel').textContent = channel;
if (letIn) notice(`No person is let in yet; one who writes is given a code. ${letIn}`);
document.title = `${channel}: Gatehouse simulator`;
for (const kind of faults) addFault(kind);
byId('trouble').hidden = faults.length === 0;
listen();
