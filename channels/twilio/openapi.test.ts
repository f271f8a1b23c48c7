/** What we send, and what our test server answers, against Twilio's description of its API, if at hand. */
import { existsSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { expect, test } from 'vitest';
import { messageBody } from '../../src/simulator/twilio/wire.ts';
import { outbound, until } from '../../src/testing/fakes.ts';
import { twilioScene } from '../../src/testing/twilio/scene.ts';
import { channel as descriptor } from './index.ts';

/** `twilio_api_v2010.json` of the public twilio-oai project; it is not part of this one. */
const PATH = process.env['TWILIO_OPENAPI'] ?? resolve(import.meta.dirname, '../../../shared/data/twilio_api_v2010.json');

interface Schema {
  readonly $ref?: string;
  readonly type?: string;
  readonly pattern?: string;
  readonly format?: string;
  readonly nullable?: boolean;
  readonly enum?: readonly unknown[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
}
interface Operation {
  readonly parameters?: readonly { readonly name: string; readonly in: string; readonly schema: Schema }[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: Schema }>> };
}
interface Description {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
}

function load(context: { skip: (note?: string) => void }): Description {
  if (!existsSync(PATH)) {
    process.stderr.write(`skipped: Twilio's OpenAPI description is not at ${PATH}; name it in TWILIO_OPENAPI\n`);
    context.skip();
  }
  return JSON.parse(readFileSync(PATH, 'utf8')) as Description;
}

const MESSAGES = '/2010-04-01/Accounts/{AccountSid}/Messages.json';
const MEDIA = '/2010-04-01/Accounts/{AccountSid}/Messages/{MessageSid}/Media.json';

/** What is wrong with a value, by the parts of JSON schema that the description uses. */
function faults(name: string, value: unknown, given: Schema, { components }: Description): string[] {
  const schema = given.$ref === undefined ? given : (components.schemas[given.$ref.split('/').at(-1) ?? ''] ?? {});
  if (value === null) return schema.nullable === true ? [] : [`${name} is null`];
  const found: string[] = [];
  const type = schema.type === 'integer' ? 'number' : schema.type;
  const actual = schema.type === 'integer' ? typeof Number(value) : typeof value;
  if (type !== undefined && type !== 'array' && actual !== type) found.push(`${name} is no ${type}`);
  if (schema.pattern !== undefined && !new RegExp(schema.pattern).test(String(value)))
    found.push(`${name} is not ${schema.pattern}`);
  if (schema.enum && !schema.enum.includes(value)) found.push(`${name} is none of ${schema.enum.join()}`);
  if (schema.minimum !== undefined && Number(value) < schema.minimum) found.push(`${name} is below ${schema.minimum}`);
  if (schema.maximum !== undefined && Number(value) > schema.maximum) found.push(`${name} is above ${schema.maximum}`);
  if (schema.format === 'uri' && schema.type === 'string' && !/^(?:https?:)?\//.test(String(value)))
    found.push(`${name} is no address`);
  if (schema.format?.startsWith('date-time') && Number.isNaN(Date.parse(String(value)))) found.push(`${name} is no date`);
  return found;
}

function bodyFaults(value: object, schema: Schema, description: Description): string[] {
  const known = schema.properties ?? {};
  const missing = (schema.required ?? []).filter((name) => !(name in value)).map((name) => `${name} is missing`);
  return [
    ...missing,
    ...Object.entries(value).flatMap(([name, field]) => {
      const property = known[name];
      return property ? faults(name, field, property, description) : [`${name} is unknown`];
    }),
  ];
}

function queryFaults(call: string, operation: Operation | undefined, description: Description): string[] {
  const known = new Map((operation?.parameters ?? []).filter((one) => one.in === 'query').map((one) => [one.name, one.schema]));
  return [...new URL(call, 'http://x').searchParams].flatMap(([name, value]) => {
    const schema = known.get(name);
    return schema ? faults(name, value, schema, description) : [`${name} is unknown`];
  });
}

test('every request is one that Twilio describes', async (context) => {
  const description = load(context);
  await using scene = await twilioScene(descriptor);
  const { platform } = scene;
  const { channel, host } = await scene.start();
  const signal = new AbortController().signal;
  const part = outbound({ channel: 'twilio', chatId: '+14155550001', text: 'hello', replyContext: { receivedAt: Date.now() } });
  await channel.send(part, { plain: false, signal });
  const file = { path: import.meta.filename, name: 'x.csv', mime: 'text/csv', kind: 'document', bytes: 10 } as const;
  await channel.send({ ...part, key: 'k2', file }, { plain: false, signal });
  await channel.find?.({ ...part, key: 'k3' }, signal);
  await channel.stop();
  platform.pageSize = 1;
  for (const text of ['a', 'b'])
    platform.inject('+14155550001', text, { silent: true, files: [{ bytes: Buffer.from('x'), mime: 'image/png' }] });
  await scene.start({}, host);
  await until('both came', () => host.accepted.length === 2);

  const create = description.paths[MESSAGES]?.['post']?.requestBody?.content['application/x-www-form-urlencoded']?.schema;
  expect(platform.forms.map((form) => bodyFaults(Object.fromEntries(form), create ?? {}, description))).toEqual([[], []]);
  const [media, lists] = [
    platform.calls.filter((call) => call.includes('/Media.json')),
    platform.calls.filter((call) => /^GET .*Messages\.json/.test(call)),
  ];
  expect([media.length, lists.length >= 4]).toEqual([2, true]);
  const asked = (calls: readonly string[], path: string) =>
    calls.flatMap((call) => queryFaults(call.slice(4), description.paths[path]?.['get'], description));
  expect(asked(lists, MESSAGES)).toEqual([]);
  expect(asked(media, MEDIA)).toEqual([]);
  // The check itself can fail.
  expect(queryFaults('/x?Since=1&PageSize=5000', description.paths[MESSAGES]?.['get'], description)).toHaveLength(2);
});

test('the test server answers in the shape that Twilio describes', (context) => {
  const description = load(context);
  const schema = description.components.schemas['api.v2010.account.message'] ?? {};
  const base = {
    sid: `SM${'a'.repeat(32)}`,
    accountSid: `AC${'b'.repeat(32)}`,
    from: '+14155550001',
    to: '+15005550006',
    body: 'x',
  };
  for (const [direction, status] of [
    ['inbound', 'received'],
    ['outbound-api', 'queued'],
  ] as const) {
    const body = messageBody({ ...base, direction, status, at: Date.now(), media: [] });
    expect(bodyFaults(body, schema, description)).toEqual([]);
    expect(Object.keys(body).sort()).toEqual(Object.keys(schema.properties ?? {}).sort());
  }
});
