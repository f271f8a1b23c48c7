/**
 * What the conformance suite of MCP starts as a client, for each scenario: hands it to the test's own
 * process, which has the client loaded. `mcp-auth-relay.ts RELAY URL`.
 */
const [relay = '', url = ''] = process.argv.slice(2);
const { MCP_CONFORMANCE_SCENARIO: scenario = '', MCP_CONFORMANCE_CONTEXT: context = '{}' } = process.env;
const answer = await fetch(relay, { method: 'POST', body: JSON.stringify({ url, scenario, context: JSON.parse(context) }) });
process.stdout.write(await answer.text());
process.exitCode = answer.ok ? 0 : 1;
