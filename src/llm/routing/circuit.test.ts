import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Circuit, type Pass } from './circuit.ts';

function setup() {
  let now = 0;
  const circuit = new Circuit({ clock: { monotonic: () => now }, threshold: 3 });
  const pass = (ms: number): void => {
    now += ms;
  };
  return { circuit, pass, fail: (n: number) => times(n, () => circuit.enter().failed()) };
}

function times(n: number, act: () => void): void {
  for (let i = 0; i < n; i += 1) act();
}

describe('Circuit (spec B5)', () => {
  test('F25 opens at the third failure in a row and not before', () => {
    const { circuit, fail } = setup();
    fail(2);
    expect(circuit.state).toBe('closed');
    fail(1);
    expect([circuit.state, circuit.admits, circuit.consecutiveFailures]).toEqual(['open', false, 3]);
  });

  test('a success in between starts the count anew', () => {
    const { circuit, fail } = setup();
    fail(2);
    circuit.enter().succeeded();
    fail(2);
    expect(circuit.state).toBe('closed');
  });

  test('F25 after 60 s one trial is let through, and only one', () => {
    const { circuit, pass, fail } = setup();
    fail(3);
    pass(59_999);
    expect(circuit.admits).toBe(false);
    pass(1);
    expect([circuit.state, circuit.admits]).toEqual(['half-open', true]);
    circuit.enter();
    expect(circuit.admits).toBe(false);
  });

  test('F25 a trial that succeeds closes, one that fails opens for another interval', () => {
    const { circuit, pass, fail } = setup();
    fail(3);
    pass(60_000);
    circuit.enter().failed();
    pass(59_999);
    expect(circuit.state).toBe('open');
    pass(1);
    circuit.enter().succeeded();
    expect([circuit.state, circuit.consecutiveFailures]).toEqual(['closed', 0]);
  });

  test('a trial that was cancelled leaves the place to the next', () => {
    const { circuit, pass, fail } = setup();
    fail(3);
    pass(60_000);
    circuit.enter().released();
    expect(circuit.admits).toBe(true);
  });

  test('calls that fail while it is open, begun before or as a last resort, do not put the trial off', () => {
    const { circuit, pass, fail } = setup();
    const straggler = circuit.enter();
    fail(3);
    pass(30_000);
    straggler.failed();
    fail(1);
    pass(30_000);
    expect(circuit.state).toBe('half-open');
  });

  test('the success of a last resort closes it', () => {
    const { circuit, fail } = setup();
    fail(3);
    circuit.enter().succeeded();
    expect(circuit.state).toBe('closed');
  });

  test('property: opens only after three failures in a row, never has two trials, and always comes back', () => {
    const action = fc.oneof(
      fc.record({ do: fc.constant('enter' as const) }),
      fc.record({ do: fc.constantFrom('succeeded', 'failed', 'released'), nth: fc.nat(5) }),
      fc.record({ do: fc.constant('wait' as const), ms: fc.nat(90_000) }),
    );
    fc.assert(
      fc.property(fc.array(action, { maxLength: 60 }), (actions) => {
        const { circuit, pass } = setup();
        const open: Pass[] = [];
        let failuresInARow = 0;
        for (const step of actions) {
          const before = circuit.state;
          if (step.do === 'wait') pass(step.ms);
          else if (step.do === 'enter') {
            open.push(circuit.enter());
            if (before === 'half-open') expect(circuit.admits).toBe(false);
          } else {
            const [call] = open.splice(step.nth % Math.max(1, open.length), 1);
            if (!call) continue;
            call[step.do]();
            if (step.do === 'failed') failuresInARow += 1;
            if (step.do === 'succeeded') failuresInARow = 0;
            if (step.do === 'succeeded') expect(circuit.state).toBe('closed');
            if (before === 'closed' && circuit.state === 'open') expect(failuresInARow).toBeGreaterThanOrEqual(3);
            call.failed(); // an outcome told twice counts once
          }
          expect(circuit.consecutiveFailures).toBe(failuresInARow);
        }
        for (const call of open) call.released();
        pass(60_000);
        expect(circuit.admits).toBe(true);
      }),
    );
  });
});
