import assert from 'node:assert/strict'
import { test } from 'node:test'
import { accessible, asOwner, seen } from '../browser.mjs'
import { elsewhere, host, world } from '../hosts.mjs'

const shots = process.env.WEB_SHOTS

const catalog = (more = '') => `
namespaces: [wiki]
permissions:
  wiki.pages.read: {description: Read a page, scopes: [wiki.space]}
  wiki.pages.edit: {description: Edit a page, scopes: [wiki.space]}
${more}
scopeTypes:
  wiki.space: {parent: null}
`

/** The application wiki, which runs elsewhere, registered and linked beside the browser. */
async function linked(t, h, how) {
  const wiki = await elsewhere(t, 'wiki', catalog(), how)
  await h.owner.api('POST', '/orgs/acme/applications', { id: 'wiki', name: 'Wiki', namespaces: ['wiki'] })
  const { providerSecret } = await h.owner.api('POST', '/orgs/acme/applications/wiki/link', { relayUrl: wiki.url })
  await wiki.stop()
  wiki.secret(providerSecret)
  await wiki.start()
  await wiki.publish()
  await h.owner.api('POST', '/orgs/acme/applications/wiki/probe')
  return wiki
}

test('11 link, probe, unlink: the secret is told once', async t => {
  const h = await host(t, { stays: true })
  const wiki = await elsewhere(t, 'wiki', catalog())
  const { page, context } = await asOwner(t, h)
  await page.goto('/dashboard/orgs/acme/applications')
  await page.getByRole('link', { name: 'Register an application' }).click()
  await page.getByLabel('Name', { exact: true }).fill('Wiki')
  await page.getByLabel('Id', { exact: true }).fill('wiki')
  await page.getByLabel('Namespaces').fill('wiki')
  await page.getByRole('button', { name: 'Review' }).click()
  await page.getByText('claims the namespace wiki').waitFor()
  assert.equal((await h.owner.api('GET', '/orgs/acme/applications')).applications.length, 1) // nothing is written yet
  await page.getByRole('dialog').getByRole('button', { name: 'Register' }).click()
  await page.getByRole('link', { name: 'Link it…' }).click()
  await page.getByLabel('Address').fill('wiki.example')
  await page.getByRole('button', { name: 'Review' }).click()
  await page.getByText('An address begins with https://').waitFor()
  await page.getByLabel('Address').fill(wiki.url)
  await page.getByRole('button', { name: 'Review' }).click()
  await page.getByText('a new secret, shown once').waitFor()
  await accessible(page, 'the review of a link')
  await page.getByRole('dialog').getByRole('button', { name: 'Link', exact: true }).click()
  const box = page.getByRole('region', { name: 'The provider secret' })
  await box.getByRole('button', { name: 'Show' }).click()
  const secret = await box.getByLabel('Secret', { exact: true }).innerText()
  assert.ok(secret.length > 30)
  await box.getByRole('button', { name: 'Copy the secret' }).click()
  assert.equal(await page.evaluate(() => navigator.clipboard.readText()), secret)
  await accessible(page, 'the secret')
  if (shots) await page.screenshot({ path: `${shots}/secret.png` })
  const kept = await page.evaluate(() => [location.href, document.title, JSON.stringify({ ...localStorage }), JSON.stringify({ ...sessionStorage }), JSON.stringify(history.state)].join(' '))
  assert.ok(!kept.includes(secret))

  // The application still has another secret: the cause, and what to do.
  const health = page.getByRole('region', { name: 'Health' })
  await health.getByRole('button', { name: 'Ask it now' }).click()
  await health.getByText('It refuses the secret of this link.').waitFor()
  await health.getByText('Put the secret of the last link into its provider.secrets').waitFor()
  assert.equal(await box.getByLabel('Secret', { exact: true }).innerText(), secret) // reading again has not taken it
  await page.getByRole('button', { name: 'I have put it away' }).click()
  await page.reload()
  await health.waitFor()
  assert.ok(!(await page.content()).includes(secret))
  await wiki.stop()
  wiki.secret(secret)
  await wiki.start()
  await health.getByRole('button', { name: 'Ask it now' }).click()
  await health.getByText('It answers, and it is the application that it should be.').waitFor()
  await health.getByText('Keeps an event log').waitFor()

  await page.getByRole('button', { name: 'Unlink…' }).click()
  const review = page.getByRole('dialog', { name: 'Unlink Wiki?' })
  await review.waitFor()
  const unlink = review.getByRole('button', { name: 'Unlink' })
  assert.equal(await unlink.getAttribute('aria-disabled'), 'true')
  await review.getByLabel('Type wiki to confirm').fill('wiki')
  await unlink.click()
  await health.getByText('It is registered, and not linked').waitFor()
  assert.equal((await h.owner.api('GET', '/orgs/acme/applications/wiki')).application.state, 'registered')

  // Somebody changes the entry while its deletion is reviewed.
  await page.getByRole('button', { name: 'Delete…' }).click()
  const deletion = page.getByRole('dialog', { name: 'Delete the entry Wiki?' })
  await deletion.getByLabel('Type wiki to confirm').fill('wiki')
  await h.owner.api('POST', '/orgs/acme/applications/wiki/audit-optin', { optIn: true })
  await deletion.getByRole('button', { name: 'Delete' }).click()
  await deletion.getByText('Somebody has changed the entry meanwhile.').waitFor()
  await deletion.getByText('As you saw it').waitFor()
  await deletion.getByRole('button', { name: 'Go on from there' }).click()
  await deletion.getByRole('button', { name: 'Delete' }).click()
  await page.waitForURL('**/orgs/acme/applications')
  await page.getByRole('grid', { name: 'Applications' }).getByText('Documents').waitFor()
  assert.equal((await h.owner.api('GET', '/orgs/acme/applications')).applications.length, 1)
  assert.equal(context.pages().length, 1)
})

test('12 an application is down: what it keeps is named, the rest stays', async t => {
  const h = await host(t, { stays: true })
  await world(h)
  const wiki = await linked(t, h)
  await wiki.local('createGrant', { input: { subject: 'user:ben', pattern: 'wiki.pages.read', scope: 'wiki.space:home' } })
  await h.owner.api('POST', '/orgs/acme/applications/docs/probe')
  const { page } = await asOwner(t, h, { quiet: [/status of 50[234]/] }) // what it answers for wiki then
  await page.goto('/dashboard/orgs/acme/people/ben')
  await page.getByText('wiki.space:home').waitFor()
  await page.goto('/dashboard/orgs/acme/applications/wiki')
  const log = page.getByRole('region', { name: 'Audit log' })
  await log.getByRole('button', { name: 'Keep a copy…' }).click()
  await page.getByRole('dialog', { name: 'Keep a copy of its audit log?' }).getByRole('button', { name: 'Keep a copy' }).click()
  await log.getByRole('button', { name: 'Copy now' }).click()
  await log.getByText(/^[0-9]+ events? (is|are) copied/).waitFor()
  await wiki.stop()

  const health = page.getByRole('region', { name: 'Health' })
  await health.getByRole('button', { name: 'Ask it now' }).click()
  await health.getByText('unreachable').waitFor()
  await health.getByText('No connection').waitFor()
  await health.getByText('See that it runs').waitFor()
  await accessible(page, 'an application that is down')
  await log.getByRole('button', { name: 'Copy now' }).click()
  await log.getByRole('alert').waitFor() // and the other cards stay
  await page.goto('/dashboard/orgs/acme/applications/wiki?tab=access')
  await page.getByRole('alert').getByText('application_un').waitFor()
  await page.goto('/dashboard/orgs/acme/applications')
  await page.getByRole('grid', { name: 'Applications' }).getByText('unreachable').waitFor()
  await page.getByRole('grid', { name: 'Applications' }).getByText('healthy').waitFor()

  await page.goto('/dashboard/orgs/acme/people/ben') // their rows at docs stay, and wiki is named
  await page.getByText('docs.folder:team').first().waitFor()
  await page.getByText('Missing, because they could not be asked:').waitFor()
  assert.match(await seen(page), /could not be asked:.*wiki/s)
  assert.equal(await page.getByText('wiki.space:home').count(), 0)
})

test('30 publish, compare, drift, from the side of the application', async t => {
  const h = await host(t, { stays: true })
  const wiki = await linked(t, h)
  await wiki.local('createRole', { input: { id: 'writer', name: 'Writer', patterns: ['wiki.pages.edit'] } })
  const { page } = await asOwner(t, h, { quiet: [/status of 50[234]/] }) // while wiki starts anew
  await page.goto('/dashboard/orgs/acme/applications/wiki?tab=catalog')
  await page.getByText('Nothing of it is in the registry yet.').waitFor()
  await page.getByRole('button', { name: 'Publish…' }).click()
  const review = page.getByRole('dialog', { name: 'This will be published' })
  await review.getByText('wiki.pages.read is added').waitFor()
  await accessible(page, 'the review of a catalog')
  if (shots) await page.screenshot({ path: `${shots}/publish.png` })
  await review.getByRole('button', { name: 'Publish' }).click()
  await page.getByText('The registry has the same.').waitFor()
  assert.equal((await h.owner.api('GET', '/orgs/acme/applications/wiki')).application.registry[0].version, 1)

  // A newer catalog: one key gone, one new, one told otherwise.
  await wiki.publish(catalog('  wiki.pages.purge: {description: Purge a page, scopes: [wiki.space], destructive: true}').replace(/.*wiki\.pages\.edit.*\n/, '').replace('Read a page', 'Read pages'))
  await page.reload()
  await page.getByText('The registry differs in 3 keys.').waitFor()
  await page.getByRole('button', { name: 'Publish…' }).click()
  await review.getByText('wiki.pages.edit is taken out').waitFor()
  await review.getByText('wiki.pages.purge is added').waitFor()
  await review.getByText('wiki.pages.read changes: the description').waitFor()

  // Somebody publishes first: what was compared with is old.
  const { published } = await h.owner.api('GET', '/orgs/acme/applications/wiki/catalog')
  const other = structuredClone(published.document)
  other.leaves.find(l => l.key === 'wiki.pages.read').description = 'Read any page'
  await h.owner.api('POST', '/orgs/acme/applications/wiki/publish', { document: other })
  await review.getByRole('button', { name: 'Publish' }).click()
  await review.getByText('Version 2 was published meanwhile.').waitFor()
  await review.getByRole('button', { name: 'Compare again' }).click()
  await page.getByText('The registry differs in 1 key.').waitFor()
  await page.getByRole('button', { name: 'Publish…' }).click()
  await review.getByRole('button', { name: 'Publish' }).click()
  await page.getByText('The registry has the same.').waitFor()

  // The role names a key that is gone by now.
  const drift = page.getByRole('region', { name: 'Rows that name missing keys' })
  await drift.getByText('Writer', { exact: true }).waitFor()
  await drift.getByText('wiki.pages.edit').waitFor()
})

test('an organization moves to the service and back: a dry run, conflicts, decisions', { timeout: 120_000 }, async t => {
  const h = await host(t, { stays: true })
  await world(h)
  const wiki = await linked(t, h)
  await wiki.local('createGrant', { input: { subject: 'user:owner', pattern: 'authz_internal.*', scope: '*' } })
  await wiki.local('createRole', { input: { id: 'editor', name: 'Wiki editor', patterns: ['wiki.pages.edit'] } })
  const { published } = await h.owner.api('GET', '/orgs/acme/applications/wiki/catalog')
  await h.owner.api('POST', '/orgs/acme/applications/wiki/publish', { document: published.document })
  const { page } = await asOwner(t, h)

  await page.goto('/dashboard/orgs/acme/applications/docs?tab=organization')
  await page.getByRole('button', { name: 'See what would move' }).click()
  await page.getByText('A dry run: nothing is changed.').waitFor()
  await page.getByText('There are no conflicts.').waitFor()
  assert.equal((await h.owner.api('GET', '/orgs/acme')).org.mode, 'linked')
  await page.getByRole('button', { name: 'Move it…' }).click()
  let review = page.getByRole('dialog', { name: 'Move the organization of Documents to the service?' })
  await review.getByLabel('Type docs to confirm').fill('docs')
  await accessible(page, 'the review of a move')
  await review.getByRole('button', { name: 'Move it' }).click()
  await page.getByText('Its organization lives here, at the service').waitFor({ timeout: 60_000 })
  assert.equal((await h.owner.api('GET', '/orgs/acme')).org.mode, 'federated')

  // A second organization, whose role of the same id is another one.
  await page.goto('/dashboard/orgs/acme/applications/wiki?tab=organization')
  await page.getByRole('button', { name: 'See what would move' }).click()
  const role = page.getByRole('article', { name: 'Two different roles have one id: role:editor' })
  await role.waitFor()
  await accessible(page, 'conflicts')
  if (shots) await page.screenshot({ path: `${shots}/conflicts.png`, fullPage: true })
  assert.equal(await page.getByRole('radio', { checked: true }).count(), 0) // nothing is chosen for the reader
  const check = page.getByRole('button', { name: 'Check the decisions' })
  assert.equal(await check.getAttribute('aria-disabled'), 'true')
  const articles = await page.getByRole('article').all()
  for (const a of articles) {
    const narrow = a.getByLabel('Narrow it to what it meant')
    if (!(await narrow.count())) continue
    // Those who administer one organization administer the merged one: else nobody would.
    await ((await a.innerText()).includes('authz_internal') ? a.getByLabel('Accept that it means the organization') : narrow).check()
  }
  await role.getByLabel('Give the one of this application another id').check()
  // Its entry changes meanwhile: what was decided stays.
  const reread = page.waitForResponse(async r => r.url().endsWith('/orgs/acme/applications/wiki') && (await r.json()).application.auditOptIn)
  await h.owner.api('POST', '/orgs/acme/applications/wiki/audit-optin', { optIn: true })
  await (await reread).finished()
  await role.getByLabel('New id').fill('editor') // taken
  await check.click()
  await page.getByRole('alert').getByText('invalid_resolution').waitFor()
  await role.getByLabel('New id').fill('wiki-editor')
  await check.click()
  await page.getByText('Nothing is left to settle.').waitFor()
  await page.getByRole('button', { name: 'Move it…' }).click()
  review = page.getByRole('dialog', { name: 'Move the organization of Wiki to the service?' })
  await review.getByLabel('Type wiki to confirm').fill('wiki')
  await review.getByRole('button', { name: 'Move it' }).click()
  await page.getByText('Its organization lives here, at the service').waitFor({ timeout: 60_000 })
  assert.ok((await h.owner.api('GET', '/orgs/acme/org/roles')).roles.some(r => r.id === 'wiki-editor'))

  await page.getByRole('button', { name: 'See what would go back' }).click()
  await page.getByRole('alert').getByText('While there are several members none can have the organization back.').waitFor()
  await page.goto('/dashboard/orgs/acme/applications/wiki')
  const members = page.getByRole('region', { name: 'Members' })
  await members.getByRole('button', { name: 'Push to all members' }).click()
  await members.getByText('has everything').nth(1).waitFor()
})

test('the organization goes back to its last member', { timeout: 60_000 }, async t => {
  const h = await host(t)
  await world(h)
  await h.owner.api('POST', '/orgs/acme/applications/docs/probe')
  await h.owner.api('POST', '/orgs/acme/applications/docs/federate', {})
  const { page } = await asOwner(t, h)
  await page.goto('/dashboard/orgs/acme/applications/docs?tab=organization')
  await page.getByRole('button', { name: 'See what would go back' }).click()
  await page.getByText('A dry run: nothing is changed.').waitFor()
  await page.getByRole('button', { name: 'Give it back…' }).click()
  const review = page.getByRole('dialog', { name: 'Give the organization back to Documents?' })
  await review.getByLabel('Type docs to confirm').fill('docs')
  await review.getByRole('button', { name: 'Give it back' }).click()
  await page.getByText('It keeps its organization itself').waitFor({ timeout: 30_000 })
  assert.equal((await h.owner.api('GET', '/orgs/acme')).org.mode, 'linked')
})

test('what an application counted, its mesh, and requests at its scopes', async t => {
  const h = await host(t, { stays: true })
  const wiki = await linked(t, h, { mesh: 'members:\n  - {partition: wiki, namespaces: [wiki]}\n  - {partition: hq, namespaces: [hq]}\nedges:\n  - {from: wiki, to: hq, mode: read}\n' })
  const windowEnd = Date.now()
  const check = (permission, decision, observed) => ({ permission, decision, shape: 'can', gate: true, scopeType: 'wiki.space', observed, estimated: observed })
  await wiki.local('reportMetrics', { batch: { instanceId: 'i', windowStart: windowEnd - 60_000, windowEnd, checks: [check('wiki.pages.read', 'allow', 41), check('wiki.pages.edit', 'deny', 7)], grants: [{ rowId: 'g_1', matched: 9, soleMatch: 3, estimatedMatched: 9, estimatedSoleMatch: 3, recentPrincipals: [] }], revokes: [], roles: [], principals: { distinct: 1, overflowed: false }, dropped: 0 } })
  const { page } = await asOwner(t, h)
  await page.goto('/dashboard/orgs/acme/applications/wiki?tab=usage')
  const keys = page.getByRole('grid', { name: 'Keys' })
  await keys.getByRole('row', { name: /wiki\.pages\.read/ }).getByText('41').waitFor()
  assert.equal(await keys.locator('[aria-rowindex="2"]').getByText('wiki.pages.read').count(), 1) // the most used first
  await accessible(page, 'usage')
  if (shots) await page.screenshot({ path: `${shots}/usage.png` })
  await page.getByRole('button', { name: 'Grants', exact: true }).click()
  await page.getByRole('grid', { name: 'Grants' }).getByRole('row', { name: /g_1/ }).getByText('9').waitFor()
  assert.match(page.url(), /of=grants/)
  await page.getByLabel('Since', { exact: true }).selectOption('day')
  await page.getByRole('grid', { name: 'Grants' }).getByText('g_1').waitFor()

  await page.getByRole('link', { name: 'Mesh' }).click()
  const members = page.getByRole('region', { name: 'Members' })
  await members.getByText('this application').waitFor()
  await page.getByRole('region', { name: 'Who reaches whom' }).getByText('wiki reads hq').waitFor()
  await accessible(page, 'mesh')
  if (shots) await page.screenshot({ path: `${shots}/mesh.png` })

})

test('who may not: nothing is shown of applications, and controls name their key', async t => {
  const h = await host(t)
  await world(h)
  const { page } = await asOwner(t, h)
  await page.goto('/dashboard/orgs/acme/people/ann')
  await page.getByRole('button', { name: 'View as…' }).click()
  await page.getByText('You see what ann may see.').waitFor()
  await page.goto('/dashboard/orgs/acme/applications')
  await page.getByText('No application is yours to see').waitFor()
  const register = page.getByRole('button', { name: 'Register an application' })
  assert.equal(await register.getAttribute('aria-disabled'), 'true')
  await register.focus()
  await page.getByRole('tooltip').getByText('cloud.applications.register_application').waitFor()
  await accessible(page, 'a list that is not the reader’s')
  await page.goto('/dashboard/orgs/acme/applications/docs')
  await page.getByRole('alert').getByText('cloud.applications.read').waitFor()
  await page.goto('/dashboard/orgs/acme/applications/nothing')
  await page.getByRole('alert').waitFor()
})
