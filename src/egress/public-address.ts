import { BlockList, isIP } from 'node:net';

/**
 * What no request of a tool may reach: this machine, its network, and addresses that carry one of these
 * within them (G7, A14, A16). IANA's registry of special-purpose addresses, and what clouds serve to their
 * machines alone.
 */
const REFUSED_4 = [
  ...['0.0.0.0/8', '10.0.0.0/8', '100.64.0.0/10', '127.0.0.0/8', '169.254.0.0/16', '172.16.0.0/12', '192.0.0.0/24'],
  ...['192.0.2.0/24', '192.88.99.0/24', '192.168.0.0/16', '198.18.0.0/15', '198.51.100.0/24', '203.0.113.0/24'],
  // Multicast, reserved, broadcast.
  ...['224.0.0.0/4', '240.0.0.0/4'],
  // Azure's own services for the machine, at an address that is public elsewhere.
  '168.63.129.16/32',
];

/**
 * Of IPv6 only global unicast is reached. That leaves out loopback, mapped and compatible IPv4, NAT64,
 * unique local, link-local, site-local and multicast addresses without a list of them.
 */
const ALLOWED_6 = '2000::/3';

/** Within that: Teredo and what IETF protocols use, examples, 6to4, examples again. */
const REFUSED_6 = ['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20'];

const refused = new BlockList();
const allowed6 = new BlockList();
for (const range of REFUSED_4) add(refused, range, 'ipv4');
for (const range of REFUSED_6) add(refused, range, 'ipv6');
add(allowed6, ALLOWED_6, 'ipv6');

function add(list: BlockList, range: string, family: 'ipv4' | 'ipv6'): void {
  const [network = '', bits = ''] = range.split('/');
  list.addSubnet(network, Number(bits), family);
}

/** Whether a connection of a tool may go there. False for what is no address, and for one with a zone. */
export function isPublicAddress(address: string): boolean {
  // A zone names a network interface of this machine.
  if (address.includes('%')) return false;
  const family = isIP(address);
  if (family === 4) return !refused.check(address, 'ipv4');
  return family === 6 && allowed6.check(address, 'ipv6') && !refused.check(address, 'ipv6');
}
