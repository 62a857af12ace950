/** What writes of groups need. */
export const key = 'authz_internal.access.manage_groups'
