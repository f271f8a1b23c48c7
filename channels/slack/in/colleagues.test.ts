/** Presses by people of other workspaces of our organisation, against the simulated platform. */
import { afterEach, expect, test } from 'vitest';
import { BOT_USER, type Json, PERSON } from '../../../src/simulator/slack/workspace.ts';
import { quickClock, TestHost } from '../../../src/testing/channel-host.ts';
import { until } from '../../../src/testing/fakes.ts';
import { slackSetup } from '../../../src/testing/slack/setup.ts';
import { channel as descriptor } from '../index.ts';

const open: AsyncDisposable[] = [];
afterEach(async () => {
  for (const item of open.splice(0).reverse()) await item[Symbol.asyncDispose]();
});

const OURS = { id: 'E0OURS', name: 'Ours' };

async function scene() {
  const at = await slackSetup(descriptor, { clock: quickClock(1) });
  open.push(at);
  const { server, logger } = at;
  server.organisation = OURS.id;
  const { channel, host } = await at.start();
  let presses = 0;
  const press = (team: string, fields: Json = {}): void => {
    presses += 1;
    const actions = [{ type: 'button', action_id: 'gatehouse_choice_0', value: 'yes', action_ts: server.workspace.nextTs() }];
    const place = { channel: { id: 'C0TEST' }, message: { ts: '1767225600.000100' }, trigger_id: `1.${presses}` };
    const by = { user: { id: PERSON, name: 'ada', team_id: team }, team: { id: 'T0TEST' }, enterprise: OURS };
    server.transport.deliver('interactive', { type: 'block_actions', ...place, ...by, actions, ...fields });
  };
  const sender = async (nth: number) => (await until('it arrived', () => host.accepted[nth]))?.senderId;
  const asked = () => server.calls.filter(({ method }) => method === 'users.info').length;
  return { server, channel, logger, host, press, sender, asked };
}

test('a colleague of another workspace who presses our button is who they are, and is asked about once', async () => {
  const { server, press, sender, asked } = await scene();
  server.members.set(PERSON, ['T0TEST', 'T0SISTER']);
  press('T0SISTER');
  expect(await sender(0)).toBe(PERSON);
  press('T0SISTER', { team: null });
  expect(await sender(1)).toBe(PERSON);
  expect(asked()).toBe(1);
  await until('both are acknowledged', () => server.sockets.unacknowledged === 0);
});

test('so is one who chooses a shortcut there', async () => {
  const { server, press, sender } = await scene();
  server.members.set(PERSON, ['T0SISTER']);
  press('T0SISTER', { type: 'shortcut', callback_id: 'help', action_ts: '1767225600.000100' });
  expect(await sender(0)).toBe(PERSON);
});

test.each<[string, readonly string[] | undefined]>([
  ['has no organisation', undefined],
  ['shares the id of one of our people', ['T0TEST', 'T0SISTER']],
])('A3 a person of another organisation who %s stays a person of that workspace', async (_name, teams) => {
  const { server, press, sender } = await scene();
  if (teams) server.members.set(PERSON, teams);
  press('T0THEIRS');
  expect(await sender(0)).toBe(`T0THEIRS:${PERSON}`);
});

test('A3 a member of another organisation is none of ours, in whichever of its workspaces they are', async () => {
  const { server, press, sender } = await scene();
  server.members.set(PERSON, ['T0THEIRS']);
  server.foreign.set(PERSON, 'E0THEIRS');
  press('T0THEIRS');
  expect(await sender(0)).toBe(`T0THEIRS:${PERSON}`);
});

test('without the right to ask a colleague stays a person of the other workspace', async () => {
  const { server, press, sender } = await scene();
  server.members.set(PERSON, ['T0SISTER']);
  server.fault({ method: 'users.info', kind: 'error', error: 'missing_scope', times: 5 });
  press('T0SISTER');
  expect(await sender(0)).toBe(`T0SISTER:${PERSON}`);
});

test('a press about which the platform does not answer is not acknowledged, so that the person is told', async () => {
  const { server, logger, host, press, sender } = await scene();
  server.members.set(PERSON, ['T0SISTER']);
  server.fault({ method: 'users.info', kind: 'error', error: 'internal_error' });
  press('T0SISTER');
  await until('it is logged', () => logger.lines.some(({ event }) => event === 'slack.not-acknowledged'));
  expect(host.accepted).toEqual([]);
  expect(server.sockets.unacknowledged).toBe(1);
  press('T0SISTER');
  expect(await sender(0)).toBe(PERSON);
});

test('where the payload says enough, nothing is asked', async () => {
  const { press, sender, asked } = await scene();
  press('T0TEST');
  press('T0SISTER', { team: { id: 'T0SISTER' } });
  press(OURS.id);
  press('T0THEIRS', { enterprise: null });
  await sender(3);
  expect(asked()).toBe(0);
});

const TEAMS = ['T0TEST', 'T0SISTER'];
const SISTER = { channel: 'C0TEST', team: 'T0SISTER' };

test('a colleague of another workspace who wrote during an outage is who they are, one of another organisation is not', async () => {
  const at = await slackSetup(descriptor, { clock: quickClock(1) });
  open.push(at);
  const { server } = at;
  server.organisation = OURS.id;
  server.members.set(PERSON, TEAMS);
  const host = new TestHost();
  const first = await at.create();
  await first.start(host, new AbortController().signal);
  await first.stop();
  server.sockets.keepMissed = false;
  for (const team of ['T0SISTER', 'T0SISTER', 'T0THEIRS'])
    server.store({ channel: 'C0TEST', team, text: `<@${BOT_USER}> hello` });
  server.fault({ method: 'users.info', kind: 'error', error: 'internal_error' });
  await at.start(host);
  await until('all arrived', () => host.accepted.length === 3);
  expect(host.accepted.map(({ senderId }) => senderId)).toEqual([PERSON, PERSON, `T0THEIRS:${PERSON}`]);
});

test('what a colleague wrote in a thread before is theirs, and so is its first message', async () => {
  const at = await scene();
  const { server, host } = at;
  server.members.set(PERSON, TEAMS);
  const parent = server.store({ ...SISTER, text: 'how it began' });
  server.say({ channel: 'C0TEST', user: 'U0BOB', text: `<@${BOT_USER}> well?`, thread_ts: parent.ts });
  const message = await until('it arrived', () => host.accepted[0]);
  expect(message.replyTo).toMatchObject({ senderId: PERSON, text: 'how it began' });
  const reply = { channel: 'C0TEST', team: 'T0THEIRS', thread_ts: parent.ts };
  server.store({ ...reply, text: 'of a stranger' });
  const asked = at.asked();
  server.store({ ...reply, text: 'of a bot', bot_id: 'B0THEIRS', user: 'U0BOT2' });
  server.fault({ method: 'users.info', kind: 'limit', retryAfter: 1 });
  const found = await at.channel.earlier?.({ ...message, platformId: '' }, 10, AbortSignal.timeout(10_000));
  expect(found?.map(({ senderId, text }) => [senderId, text])).toEqual([
    [PERSON, 'how it began'],
    ['U0BOB', 'well?'],
    [`T0THEIRS:${PERSON}`, 'of a stranger'],
    ['T0THEIRS:U0BOT2', 'of a bot'],
  ]);
  // About the stranger: twice whether they are one of ours, since the platform put it off once, and for the
  // name.
  expect(at.asked() - asked).toBe(3);
});
