/** The page's script in a document that holds no more than it asks for. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { runInNewContext } from 'node:vm';
import { expect, test } from 'vitest';
import { FAULT_KINDS } from './platforms/platform.ts';

type Listener = (event: Readonly<Record<string, unknown>>) => void;

/** Children are made when they are asked for; markup is refused, so that text can only be text. */
class FakeElement {
  textContent = '';
  className = '';
  title = '';
  value = '';
  hidden = true;
  checked = true;
  files: readonly object[] | undefined;
  scrollTop = 0;
  readonly scrollHeight = 0;
  readonly children: (FakeElement | string)[] = [];
  readonly #found = new Map<string, FakeElement>();
  readonly #listeners = new Map<string, Listener>();
  #parent: FakeElement | undefined;

  set innerHTML(_markup: string) {
    throw new Error('the page wrote markup');
  }

  get content(): { readonly firstElementChild: FakeElement } {
    return { firstElementChild: this };
  }

  setAttribute(): void {}
  tabIndex = -1;

  get firstElementChild(): FakeElement | undefined {
    return this.elements()[0];
  }

  cloneNode(): FakeElement {
    return new FakeElement();
  }

  querySelector(selector: string): FakeElement {
    const found = this.#found.get(selector) ?? new FakeElement();
    this.#found.set(selector, found);
    return found;
  }

  append(...nodes: (FakeElement | string)[]): void {
    this.children.push(...nodes);
    for (const node of nodes) if (node instanceof FakeElement) node.#parent = this;
  }

  remove(): void {
    const { children = [] } = this.#parent ?? {};
    children.splice(children.indexOf(this), 1);
  }

  addEventListener(type: string, listener: Listener): void {
    this.#listeners.set(type, listener);
  }

  emit(type: string, event: Readonly<Record<string, unknown>> = {}): void {
    this.#listeners.get(type)?.({ preventDefault: () => undefined, ...event });
  }

  requestSubmit(): void {
    this.emit('submit');
  }

  elements(): FakeElement[] {
    return this.children.filter((child) => child instanceof FakeElement);
  }
}

const read = (name: string) => readFile(join(import.meta.dirname, 'page', name), 'utf8');

async function openPage({
  faults = ['limit', 'slow'],
  plays = { groups: true, files: true },
  kept = new Map<string, string>(),
}: {
  readonly faults?: readonly string[];
  readonly plays?: object;
  readonly kept?: Map<string, string>;
} = {}) {
  const byId = new Map<string, FakeElement>();
  const posted: [string, unknown][] = [];
  let refusal: object | undefined;
  const events = new FakeElement();
  const own = new FakeElement();
  const streams = { open: 0, reloads: 0 };
  const document = {
    title: '',
    hidden: false,
    addEventListener: (type: string, listener: Listener) => own.addEventListener(type, listener),
    createElement: () => new FakeElement(),
    getElementById: (id: string) => {
      const found = byId.get(id) ?? new FakeElement();
      byId.set(id, found);
      return found;
    },
  };
  const fetch = async (path: string, options?: { readonly body: string }) => {
    if (options) posted.push([path, JSON.parse(options.body)]);
    return { ok: refusal === undefined, json: async () => refusal ?? { run: 'one', channel: 'telegram', faults, plays } };
  };
  // A class, because the page calls it with `new`.
  class EventSource {
    constructor() {
      streams.open += 1;
    }

    close(): void {
      streams.open -= 1;
    }

    addEventListener(type: string, listener: Listener): void {
      events.addEventListener(type, listener);
    }
  }
  document.getElementById('times').value = '3';
  await (runInNewContext(`(async () => {${await read('page.js')}\n})()`, {
    document,
    fetch,
    EventSource,
    sessionStorage: {
      getItem: (key: string) => kept.get(key) ?? null,
      setItem: (key: string, value: string) => kept.set(key, value),
    },
    btoa,
    AbortSignal,
    DataTransfer: class {
      readonly files: object[] = [];
      readonly items = { add: (file: object) => this.files.push(file) };
    },
    location: {
      reload: () => {
        streams.reloads += 1;
      },
    },
  }) as Promise<void>);
  const tell = (type: string, data: object): void => events.emit(type, { data: JSON.stringify({ type, ...data }) });
  const settle = () => new Promise((resolve) => setImmediate(resolve));
  const refuse = (error: object): void => {
    refusal = { error };
  };
  const show = (isShown: boolean): void => {
    document.hidden = !isShown;
    own.emit('visibilitychange');
  };
  return {
    ...{ document, streams, show },
    posted,
    tell,
    settle,
    refuse,
    at: document.getElementById,
    people: () => document.getElementById('people').elements(),
  };
}

const message = (override: object = {}) => ({
  message: { id: 'bot-0', person: 1, by: 'bot', text: 'hi', at: 0, edited: false, ...override },
});

test('three people stand side by side, and a message becomes a bubble at its person that an edit changes in place', async () => {
  const { tell, people, document } = await openPage();
  expect([people().length, document.title]).toEqual([3, 'telegram: Gatehouse simulator']);
  const bubbles = () => people()[1]?.querySelector('.messages').elements() ?? [];
  tell('message', message());
  tell('message', message({ id: 'person-0', by: 'person', text: 'a question' }));
  tell('message', message({ text: 'hi, edited', edited: true }));
  expect(bubbles().map((bubble) => [bubble.className, bubble.elements()[0]?.textContent])).toEqual([
    ['bot-wrote', 'hi, edited'],
    ['person-wrote', 'a question'],
  ]);
  expect(bubbles()[0]?.elements()[1]?.textContent).toContain('edited');
  tell('removed', { id: 'bot-0' });
  expect(bubbles()).toHaveLength(1);
  tell('message', message({ id: 'bot-1', person: 4 }));
  expect(people()).toHaveLength(5);
});

test('A41 markup in a message, in a fault or in an error of the server stays text', async () => {
  const { tell, people, at, refuse, settle } = await openPage();
  const hostile = '<img src=x onerror=alert(1)>';
  tell('message', message({ text: hostile }));
  expect(people()[1]?.querySelector('.messages').elements()[0]?.elements()[0]?.textContent).toBe(hostile);
  tell('fault', { kind: hostile, times: 1 });
  expect(at('notice').textContent).toContain(hostile);
  refuse({ message: hostile });
  at('faults').elements()[0]?.emit('click');
  await settle();
  expect(at('notice').textContent).toBe(hostile);
});

test('Enter sends what is typed, and what could not be sent stands there again', async () => {
  const { posted, people, refuse, settle, at } = await openPage();
  const [text, form] = [people()[2]?.querySelector('textarea'), people()[2]?.querySelector('form')];
  if (!text || !form) throw new Error('a person has no form');
  text.value = 'hello';
  text.emit('keydown', { key: 'Enter', shiftKey: true });
  expect(posted).toEqual([]);
  text.emit('keydown', { key: 'Enter' });
  expect([posted, text.value]).toEqual([[['/people/2/messages', { text: 'hello' }]], '']);
  text.value = '  ';
  form.requestSubmit();
  expect(posted).toHaveLength(1);
  refuse({ message: 'no such person', hint: 'add one' });
  text.value = 'again';
  form.requestSubmit();
  await settle();
  expect([text.value, at('notice').textContent]).toEqual(['again', 'no such person: add one']);
});

test('there is a button for each fault of the platform; typing and what the platform holds are shown as they are told', async () => {
  const { posted, tell, people, at, settle } = await openPage();
  const buttons = at('faults').elements();
  expect(buttons.map(({ title }) => title)).toEqual(['limit', 'slow']);
  buttons[1]?.emit('click');
  await settle();
  expect(posted).toEqual([['/faults', { kind: 'slow', times: 3 }]]);
  tell('typing', { people: [2] });
  expect(people().map((person) => person.querySelector('.typing').hidden)).toEqual([true, true, false]);
  tell('waiting', { waiting: 7 });
  expect(at('waiting').textContent).toBe('7');
});

test('a platform that plays no fault shows no row for them', async () => {
  expect((await openPage()).at('trouble').hidden).toBe(false);
  expect((await openPage({ faults: [] })).at('trouble').hidden).toBe(true);
});

test('a group has its own bubbles with the name of each author, and a choice of who writes and whether to the bot', async () => {
  const { posted, tell, people, at, settle } = await openPage();
  tell('message', message({ id: 'person-0', person: 0, inGroup: true, author: 2, by: 'person', text: 'hello all' }));
  const group = people()[3];
  expect(group?.querySelector('h2').textContent).toBe('Group 0');
  expect(group?.querySelector('.messages').elements()[0]?.elements()[0]?.textContent).toBe('Person 2: hello all');
  expect(
    group
      ?.querySelector('.author select')
      .elements()
      .map(({ value }) => value),
  ).toEqual(['0', '1', '2']);
  const [form, text, author, addressed] = ['form', 'textarea', '.author select', '.addressed input'].map((one) =>
    group?.querySelector(one),
  );
  if (!form || !text || !author || !addressed) throw new Error('a group has no form');
  Object.assign(text, { value: 'who is there?' });
  author.value = '1';
  addressed.checked = false;
  form.requestSubmit();
  await settle();
  expect(posted).toEqual([['/groups/0/messages', { person: 1, text: 'who is there?', addressed: false }]]);
  at('add-group').emit('click');
  expect(people()[4]?.querySelector('h2').textContent).toBe('Group 1');
});

test('a file goes with the words beside it, or without any', async () => {
  const { posted, people, settle } = await openPage();
  const [form, text, chooser] = ['form', 'textarea', '.file input'].map((one) => people()[0]?.querySelector(one));
  if (!form || !text || !chooser) throw new Error('a person has no form');
  const arrayBuffer = async () => new TextEncoder().encode('hi').buffer;
  chooser.files = [{ name: 'a.txt', type: 'text/plain', arrayBuffer }];
  form.requestSubmit();
  await settle();
  expect(posted).toEqual([['/people/0/files', { name: 'a.txt', type: 'text/plain', base64: 'aGk=', text: '' }]]);
});

test('what a platform does not play is not offered', async () => {
  const { people, at } = await openPage({ faults: [], plays: { groups: false, files: false } });
  expect([at('add-group').hidden, people()[0]?.querySelector('.file').hidden]).toEqual([true, true]);
  const { people: others, at: found } = await openPage();
  expect([found('add-group').hidden, others()[0]?.querySelector('.file').hidden]).toEqual([false, false]);
});

test('everything that the script looks for is on the page', async () => {
  const [html, script] = await Promise.all([read('index.html'), read('page.js')]);
  for (const [, id] of script.matchAll(/byId\('([\w-]+)'\)/g)) expect(html).toContain(`id="${id}"`);
  for (const [, selector = ''] of script.matchAll(/querySelector\('([.\w-]+)'\)/g))
    expect(html).toMatch(selector.startsWith('.') ? new RegExp(`class="${selector.slice(1)}"`) : new RegExp(`<${selector}[ >]`));
  expect([...script.matchAll(/^ {2}'?([\w-]+)'?: '/gm)].map(([, kind]) => kind)).toEqual(FAULT_KINDS);
});

test('the stream is open while the page is seen, and a simulator that was started anew begins the page anew', async () => {
  const { streams, show, tell } = await openPage();
  show(false);
  expect(streams.open).toBe(0);
  show(true);
  tell('run', { run: 'one' });
  expect(streams).toEqual({ open: 1, reloads: 0 });
  tell('run', { run: 'two' });
  expect(streams.reloads).toBe(1);
});

test('a page that is loaded again has the people and groups of before, and one of another simulator has not', async () => {
  const kept = new Map<string, string>();
  const { at } = await openPage({ kept });
  at('add').emit('click');
  at('add-group').emit('click');
  expect((await openPage({ kept })).people()).toHaveLength(5);
  kept.set('two', kept.get('one') ?? '');
  kept.delete('one');
  expect((await openPage({ kept })).people()).toHaveLength(3);
});

test('what is not addressed to the bot in a group is told to be why it is silent', async () => {
  const { at, people, settle } = await openPage();
  at('add-group').emit('click');
  const group = people()[3];
  if (!group) throw new Error('there is no group');
  group.querySelector('textarea').value = 'hello all';
  group.querySelector('.addressed input').checked = false;
  group.querySelector('form').emit('submit');
  await settle();
  await settle();
  expect(
    at('log')
      .elements()
      .map(({ textContent }) => textContent)
      .join(),
  ).toMatch(/answers what is addressed to it/);
});

test('who is added later may write in the groups that are there', async () => {
  const { at, people } = await openPage();
  at('add-group').emit('click');
  at('add').emit('click');
  const authors = people()[3]?.querySelector('.author select').elements() ?? [];
  expect(authors.map(({ textContent }) => textContent)).toEqual(['Person 0', 'Person 1', 'Person 2', 'Person 3']);
});

test('a file that could not be sent stays chosen, and one that is too large is not sent', async () => {
  const { people, refuse, settle, at, posted } = await openPage();
  const form = people()[0]?.querySelector('form');
  const chooser = people()[0]?.querySelector('.file input');
  if (!chooser) throw new Error('there is no chooser');
  const file = { name: 'a.txt', type: '', size: 1, arrayBuffer: async () => new ArrayBuffer(1) };
  refuse({ message: 'not now' });
  chooser.files = [file];
  form?.emit('submit');
  await settle();
  await settle();
  expect([chooser.files, at('notice').textContent]).toEqual([[file], 'not now']);
  const sent = posted.length;
  chooser.files = [{ ...file, size: 4 * 1024 * 1024 }];
  form?.emit('submit');
  await settle();
  expect([posted.length, at('notice').textContent]).toEqual([sent, 'A file may have 3 MB here.']);
});

test('the image of the Dockerfile holds the page', async () => {
  const dockerfile = await readFile(join(import.meta.dirname, '../../Dockerfile'), 'utf8');
  const last = dockerfile.split(/^FROM /m).at(-1) ?? '';
  const copied = [...last.matchAll(/^COPY --from=build \/app\/(\S+) \.\/(\S+)$/gm)].map(([, from, to]) => [from, to]);
  expect(copied).toContainEqual(['src/simulator/page', 'src/simulator/page']);
});

test('what the bot took back while the page did not watch is gone when it watches again', async () => {
  const { tell, people, show } = await openPage();
  const bubbles = () => people()[1]?.querySelector('.messages').elements() ?? [];
  tell('run', { run: 'one' });
  tell('message', message());
  tell('message', message({ id: 'bot-1', text: 'it stays' }));
  show(false);
  show(true);
  // As the server begins each stream, now without the first one.
  tell('run', { run: 'one' });
  tell('message', message({ id: 'bot-1', text: 'it stays' }));
  tell('present', { ids: ['bot-1'] });
  expect(bubbles().map((bubble) => bubble.elements()[0]?.textContent)).toEqual(['it stays']);
});
