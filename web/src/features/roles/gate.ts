/** What a write of a role needs: those of the service itself are its own. */
export const keyOf = (patterns: string[]) => (ofAccount(patterns) ? 'cloud.seats.update_seat' : 'authz_internal.access.manage_roles')

export const ofAccount = (patterns: string[]) => patterns.length > 0 && patterns.every(p => p.startsWith('cloud.'))
