import { isoTime } from "../world/clock.ts";
import type { MemberRecord } from "../world/records.ts";
import type { World } from "../world/world.ts";

/** A member of a team as the API shows them (assumed, section 5). */
export function teamMemberShape(world: World, member: MemberRecord) {
  const { id, email, name } = world.users.get(member.userId)!;
  return {
    id: member.id,
    email,
    role: member.role,
    federated: false,
    identity_provider: null,
    two_factor_authentication: true,
    user: { id, email, name },
    created_at: isoTime(member.createdAt),
    updated_at: isoTime(member.createdAt),
  };
}
