import assert from 'node:assert/strict'
import { test } from 'node:test'
import { accessible, asOwner, signIn, visit } from '../browser.mjs'
import { host, world } from '../hosts.mjs'

async function asked(h, ...users) {
  await world(h)
  await h.local('createRole', { input: { id: 'approver', name: 'Approver', patterns: ['authz_internal.requests.*'] } })
  await h.grant({ subject: 'user:owner', roleId: 'approver', scope: '*' })
  await h.local('updateRole', { roleId: 'reader', input: { requestable: { stages: [{ kind: 'named_approvers', roleId: 'approver' }] } } })
  const ids = []
  for (const requesterUserId of users) ids.push((await h.local('submitRequest', { input: { requesterUserId, roleId: 'reader', scope: '*', justification: {} } })).request.id)
  return ids
}

test('25 a request is denied with a note, another approved, and nothing is preset', async t => {
  const h = await host(t)
  const [first] = await asked(h, 'zoe', 'yan')
  const { page } = await asOwner(t, h)
  await page.getByText('2 requests wait for your decision.').waitFor()
  await page.getByRole('link', { name: 'Open' }).click()
  const grid = page.getByRole('grid', { name: 'Inbox' })
  await grid.getByText('zoe').click()
  const one = page.getByRole('complementary', { name: 'Request' })
  await one.getByText('It gives 1 permission').waitFor()
  await accessible(page, 'a request')
  assert.equal(await one.getByRole('radio', { checked: true }).count(), 0)
  await one.getByRole('radio', { name: 'Deny' }).check()
  await one.getByLabel('Note to the requester').fill('not now')
  await one.getByRole('button', { name: 'Deny' }).click()
  await page.getByText('Denied. zoe sees that, with your note.').waitFor()
  const told = await h.owner.api('GET', '/orgs/acme/requests/' + first)
  assert.equal(told.request.state, 'denied')
  assert.equal(told.request.decisions[0].note, 'not now')
  await grid.getByText('yan').click()
  await one.getByRole('radio', { name: 'Approve' }).check()
  await one.getByRole('button', { name: 'Approve' }).click()
  await page.getByText('Nothing waits for you').waitFor()
  assert.equal((await h.owner.api('GET', '/orgs/acme/org/grants?subject=user:yan')).grants.length, 1)
})

test('who was first is told when two decide', async t => {
  const h = await host(t)
  const [id] = await asked(h, 'zoe')
  const { page } = await asOwner(t, h)
  await page.goto('/dashboard/orgs/acme/inbox?open=' + id)
  const one = page.getByRole('complementary', { name: 'Request' })
  await one.getByRole('radio', { name: 'Approve' }).check()
  await h.owner.api('POST', `/orgs/acme/requests/${id}/decide`, { decision: 'denied', note: 'I was first' })
  await one.getByText('I was first').waitFor() // by the stream of changes, or by the refusal
  assert.equal((await h.owner.api('GET', '/orgs/acme/requests/' + id)).request.state, 'denied')
})

test('from the link of a request to its decision in two presses, and what became of it later', async t => {
  const h = await host(t)
  const [id] = await asked(h, 'zoe')
  const { page } = await visit(t, h)
  await page.goto('/dashboard/orgs/acme/requests/' + id)
  await page.getByText('After that you come to the page that you opened.').waitFor()
  assert.equal(await page.getByLabel('Organization').inputValue(), 'acme')
  await signIn(page, h)
  await page.getByRole('heading', { name: 'zoe asks for reader' }).waitFor()
  await page.getByText('Open a document').waitFor() // what it gives, in words
  const decision = page.getByRole('region', { name: 'Decision' })
  await accessible(page, 'a request to decide')
  await decision.getByRole('radio', { name: 'Approve' }).check()
  await decision.getByRole('button', { name: 'Approve' }).click()
  await page.getByText('Approved. zoe has it now.').waitFor()
  await page.getByText('It is given.').waitFor()
  await page.getByRole('link', { name: 'See the grant' }).click()
  const grant = page.getByRole('complementary', { name: 'Grant' })
  await grant.getByRole('button', { name: 'Take away…' }).click()
  const sure = page.getByRole('dialog')
  await sure.getByText('from zoe').waitFor()
  await sure.getByRole('button', { name: 'Take away', exact: true }).click()
  await sure.waitFor({ state: 'detached' })
  await page.goto('/dashboard/orgs/acme/requests/' + id)
  await page.getByText('It was given, and taken away since.').waitFor()
  await accessible(page, 'a request whose grant is gone')
})
