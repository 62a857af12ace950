// Every screen of an organization by its address, and a world in which each has something to show.
import { idle } from './browser.mjs'
import { administered, requestable } from './hosts.mjs'

export const screens = {
  home: '', explain: '/explain', allowed: '/explain?user=ann&key=docs.files.edit&scope=docs.doc:plan', denied: '/explain?user=ben&key=docs.files.edit&scope=docs.doc:plan',
  revoked: '/explain?user=dan&key=docs.files.read&scope=docs.doc:plan', people: '/people', person: '/people/ann', 'person-keys': '/people/ann?tab=keys', memberships: '/people/ann?tab=groups', manage: '/people/ann?tab=manage', managers: '/people?list=managers',
  groups: '/groups', group: '/groups/staff', 'group-access': '/groups/company?tab=access', 'group-change': '/groups/staff?tab=change', 'group-new': '/new-group', roles: '/roles', role: '/roles/office', 'role-grants': '/roles/editor?tab=grants', 'role-change': '/roles/editor?tab=change', 'role-new': '/new-role',
  grants: '/grants', 'grants-app': '/grants?home=docs', 'grants-new': '/grants/new', 'grants-many': '/grants/many', revokes: '/revokes', 'revokes-app': '/revokes?home=docs', 'revoke-new': '/revokes/new', resources: '/resources', resource: '/resources/docs.doc:plan', inbox: '/inbox', ask: '/ask', 'ask-role': '/ask?role=reader', 'ask-key': '/ask?pattern=docs.files.read&scope=docs.folder:team', requests: '/requests', 'requests-all': '/requests?list=all', request: '/requests/ID', audit: '/audit', 'audit-account': '/audit?log=_account', 'audit-app': '/audit?log=docs&action=grant.*', event: '/audit?event=EVENT',
  seats: '/seats', seat: '/seats/owner', 'seat-other': '/seats/u_7', invite: '/invite', keys: '/keys', 'key-new': '/keys/new', key: '/keys/KEY', service: '/services/ci',
  usage: '/usage', settings: '/settings', catalog: '/catalog', 'catalog-find': '/catalog?q=document', registry: '/registry', namespace: '/registry/docs', drift: '/drift',
  sod: '/reports', entitlements: '/reports?tab=entitlements', wildcards: '/reports?tab=wildcards', chain: '/reports?tab=chain', retained: '/retained',
  applications: '/applications', 'application-new': '/applications/new', application: '/applications/docs', 'application-unlink': '/applications/docs?act=unlink', 'application-access': '/applications/docs?tab=access', 'application-requests': '/applications/docs?tab=access&list=requests', 'application-catalog': '/applications/docs?tab=catalog', 'application-usage': '/applications/docs?tab=usage', 'application-mesh': '/applications/docs?tab=mesh', 'application-organization': '/applications/docs?tab=organization', lost: '/nowhere',
}

/** Fills a host whose audit log may be retained; answers the address of a screen there. */
export async function shown(h) {
  await requestable(h)
  await administered(h)
  const asked = await h.owner.api('POST', '/orgs/acme/requests', { roleId: 'reader', justification: { why: 'the audit of spring' } })
  await h.local('submitRequest', { input: { requesterUserId: 'zoe', roleId: 'reader', scope: 'docs.folder:team', justification: { why: 'to read the plan' } } })
  const [newest] = (await h.owner.api('GET', '/orgs/acme/org/audit?action=grant.create&limit=1')).events
  const made = await h.owner.api('POST', '/orgs/acme/api-keys', { kind: 'principal', name: 'Nightly build', serviceId: 'ci' })
  return screen => '/dashboard/orgs/acme' + screens[screen].replace('ID', asked.request.id).replace('KEY', made.apiKey.id).replace('EVENT', `${newest.at}.${newest.id}`)
}

/** Waits until a screen has all that it asked for, and has asked nothing for ms. */
export async function settled(page, ms) {
  await page.locator('main').waitFor()
  await page.waitForFunction(() => !document.querySelector('.skeleton') && document.querySelector('main')?.innerText.trim())
  await idle(page, ms)
}
