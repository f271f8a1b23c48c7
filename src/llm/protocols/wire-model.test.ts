import { expect, test } from 'vitest';
import { wireOptions } from './wire-contract.ts';
import { createWireModel } from './wire-model.ts';

test('an SDK that could not be loaded once is loaded by the next call, and only once', async () => {
  let calls = 0;
  const never = (): never => {
    throw new Error('nothing is asked');
  };
  const connect = async (): Promise<object> => {
    calls += 1;
    if (calls === 1) throw new Error('EMFILE: too many open files');
    return {};
  };
  const model = createWireModel(wireOptions('http://model.test'), { connect, assembly: never, open: never });
  await expect(model.warm()).rejects.toThrow('EMFILE');
  await model.warm();
  await model.warm();
  expect(calls).toBe(2);
});
