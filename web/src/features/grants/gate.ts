/** What writes of rows of the organization need. */
export const grantsKey = 'authz_internal.access.manage_grants'
export const revokesKey = 'authz_internal.access.manage_revokes'
