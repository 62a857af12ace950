import assert from 'node:assert/strict'
import { test } from 'node:test'
import { accessible, asOwner, visit } from '../browser.mjs'
import { host, world } from '../hosts.mjs'
import { provider } from '../oidc.mjs'

test('one person: every row by its way, revokes in front', async t => {
  const h = await host(t)
  await world(h)
  await h.grant({ subject: 'everyone', pattern: 'docs.bills.read', scope: '*' })
  await h.grant({ subject: 'user:ann', roleId: 'reader', scope: 'docs.doc:plan' })
  const { page } = await asOwner(t, h)
  await page.goto('/dashboard/orgs/acme/people')
  await page.getByLabel('Find by the beginning of the id').fill('an')
  await page.waitForURL('**/people?q=an')
  const people = page.getByRole('grid', { name: 'People' })
  await people.getByText('ann', { exact: true }).click()
  await page.waitForURL('**/people/ann')
  const rows = page.getByRole('grid', { name: 'Access' })
  await rows.getByText('everyone').waitFor()
  for (const [chip, count] of [['All 3', 3], ['Own 1', 1], ['Groups 1', 1], ['Everyone 1', 1]]) {
    await page.getByRole('button', { name: chip }).click()
    await page.waitForFunction(n => document.querySelectorAll('.grid .body [role=row]').length === n, count)
  }
  await page.goto('/dashboard/orgs/acme/people/dan')
  await page.getByText('1 revoke stands in front').waitFor()
  await page.goto('/dashboard/orgs/acme/people/eve')
  await page.getByText('Deactivated: none of the rows below gives anything.').waitFor()
  await page.goto('/dashboard/orgs/acme/people/ann?tab=keys')
  const bills = page.getByRole('listitem').filter({ has: page.getByRole('link', { name: 'read', exact: true }) })
  await bills.getByRole('button', { name: 'Where' }).click()
  await bills.getByText('everywhere').waitFor()
  await page.goto('/dashboard/orgs/acme/people/whoever')
  await page.getByText('nothing is stored of this id').waitFor() // any id may be opened
})

test('21 a membership changes alone, beside another administrator', async t => {
  const h = await host(t)
  await world(h)
  await h.local('createGroup', { input: { id: 'crew', name: 'Crew', parents: [] } })
  const { page } = await asOwner(t, h)
  await page.goto('/dashboard/orgs/acme/people/ben?tab=groups')
  await page.getByRole('combobox', { name: 'Add to the group' }).fill('staff')
  await page.getByRole('button', { name: 'Add…' }).click()
  const review = page.getByRole('region', { name: 'This will be done' })
  await review.getByText(/gains \d+ answers?/).waitFor()
  await accessible(page, 'a membership under review')
  await h.owner.api('PUT', '/orgs/acme/org/users/ben/groups/crew', {}) // meanwhile somebody else
  await review.getByRole('button', { name: 'Add', exact: true }).click()
  await page.getByText('They are in the group.').waitFor()
  const groups = async () => (await h.owner.api('GET', '/orgs/acme/org/users/ben')).user.groupIds.sort()
  assert.deepEqual(await groups(), ['crew', 'staff'])
  await page.getByRole('button', { name: 'Remove from staff' }).click()
  await review.getByText(/loses \d+ answers?/).waitFor()
  await review.getByRole('button', { name: 'Remove', exact: true }).click()
  await page.getByText('They are out of the group.').waitFor()
  assert.deepEqual(await groups(), ['crew'])
})

test('28 a portal seat sees what is not its own to see, and why', async t => {
  const idp = await provider(t)
  const h = await host(t, { oidc: idp, keep: true })
  await world(h)
  await h.owner.api('POST', '/orgs/acme/seats', { userId: 'u_42', kind: 'portal' })
  const { page } = await visit(t, h)
  await page.goto('/dashboard/sign-in?org=acme&returnTo=/dashboard/orgs/acme/people')
  await page.getByRole('button', { name: 'Continue with single sign-on' }).click()
  await page.getByRole('alert').getByText('authz_internal.access.read').waitFor()
  await accessible(page, 'a screen that is not theirs')
  await page.getByRole('link', { name: 'Inbox' }).click()
  await page.getByText('Nothing waits for you').waitFor()
  await h.grant({ subject: 'user:u_42', roleId: 'reader', scope: 'docs.folder:team' })
  await page.goto('/dashboard/orgs/acme/explain?key=docs.files.read&scope=docs.doc:plan')
  const verdict = page.getByRole('region', { name: 'Verdict' })
  await verdict.waitFor()
  assert.match(await verdict.innerText(), /u_42 may docs\.files\.read at docs\.doc:plan/)
  await accessible(page, 'an explanation of oneself')
  await page.goto('/dashboard/orgs/acme/explain?key=docs.files.edit&scope=docs.doc:plan')
  await verdict.getByText('may not').waitFor()
  assert.equal(await page.getByText('local:').count(), 0) // who made a row is nothing of theirs
  await page.getByRole('link', { name: 'Overview' }).click()
  await page.getByText('Nothing needs you.').waitFor()
  assert.equal(await page.getByText('Who may do what, and why?').count(), 0)
})
