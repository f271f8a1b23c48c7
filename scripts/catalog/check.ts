/**
 * `npm run catalog:check`: a release step. Fails when the catalog is too old to be released. Never part of
 * the tests.
 */
import { catalogProblems } from '../../src/app/catalog-warnings.ts';
import { systemClock } from '../../src/lib/clock.ts';
import overrides from '../../src/llm/catalog/overrides.json' with { type: 'json' };
import { limitedOverrides, type Overrides } from './build.ts';

const problems = catalogProblems(systemClock.now(), limitedOverrides(overrides as unknown as Overrides));
for (const problem of problems) process.stderr.write(`${problem}\n`);
process.stdout.write(problems.length === 0 ? 'the catalog is fit for a release\n' : '');
process.exitCode = problems.length === 0 ? 0 : 1;
