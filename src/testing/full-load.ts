/**
 * Whether tests play their whole load, as `.ci/run` asks with `GATEHOUSE_TEST_LOAD=full`, and not the sample
 * of `npm test`.
 */
export function isFullLoad(): boolean {
  return process.env['GATEHOUSE_TEST_LOAD'] === 'full';
}
