import { expect, test } from 'vitest';
import { SimulatedInteractions } from './interactions.ts';

const CALLBACK = '/interactions/901000000000000001/a-token/callback';
const ORIGINAL = '/webhooks/135000000000000001/a-token/messages/@original';

function given(type = 2) {
  const interactions = new SimulatedInteractions();
  interactions.learn({ id: '901000000000000001', token: 'a-token', type });
  return {
    interactions,
    post: (body: object) => interactions.answer('POST', CALLBACK, { ...body }, () => '1')?.status,
    patch: () => interactions.answer('PATCH', ORIGINAL, { content: 'words' }, () => '2'),
  };
}

test('a deferred command is answered through its token, and shown to whom the deferral says', () => {
  const { interactions, post, patch } = given();
  expect(patch()).toMatchObject({ status: 404, body: { code: 10_015 } });
  expect(post({ type: 5, data: { flags: 64 } })).toBe(204);
  expect(interactions.shown('a-token')).toEqual({ isEphemeral: true });
  expect(patch()).toEqual(patch());
  expect(interactions.shown('a-token')).toEqual({ isEphemeral: true, content: 'words' });
});

test.each([
  ['another flag', 2, { type: 5, data: { flags: 4 } }, 400],
  ['an update where no component was pressed', 2, { type: 6 }, 400],
  ['an update of a component', 3, { type: 6 }, 204],
])('the callback with %s', (_name, type, body, status) => {
  expect(given(type).post(body)).toBe(status);
});

test('an interaction is acknowledged once, and not after its time', () => {
  const { interactions, post, patch } = given();
  expect([post({ type: 5 }), post({ type: 5 })]).toEqual([204, 400]);
  interactions.expire('a-token');
  expect(patch()).toMatchObject({ status: 401, body: { code: 50_027 } });
  const late = given();
  late.interactions.expire('a-token');
  expect(late.post({ type: 5 })).toBe(404);
});

test('an answer that was taken away is not there any more', () => {
  const { interactions, post, patch } = given();
  post({ type: 5 });
  expect(interactions.answer('DELETE', ORIGINAL, {}, () => '3')).toMatchObject({ status: 204 });
  expect(patch()).toMatchObject({ status: 404, body: { code: 10_008 } });
});
