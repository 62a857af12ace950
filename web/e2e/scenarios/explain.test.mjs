import assert from 'node:assert/strict'
import { test } from 'node:test'
import { accessible, asOwner, fill } from '../browser.mjs'
import { host, world } from '../hosts.mjs'

const ask = (page, user, key, scope) => page.goto(`/dashboard/orgs/acme/explain?user=${user}&key=${key}&scope=${encodeURIComponent(scope)}`)
const verdict = page => page.getByRole('region', { name: 'Verdict' })

test('17, 18, 19 every verdict with its reason', async t => {
  const h = await host(t)
  await world(h)
  await new Promise(r => setTimeout(r, 500)) // finn's grant expires
  const { page } = await asOwner(t, h)
  const plan = 'docs.doc:plan'
  const cases = [
    ['ann', 'docs.files.edit', plan, 'may', 'The role Editor at docs.folder:team, given to group company, gives it, and no revoke touches it.'],
    ['dan', 'docs.files.read', plan, 'may not', 'The revoke of docs.files.* at docs.folder:team wins over every grant.'],
    ['eve', 'docs.files.read', plan, 'may not', 'The principal is deactivated'],
    ['finn', 'docs.files.edit', plan, 'may not', 'has expired'],
    ['ben', 'docs.files.edit', plan, 'may not', 'The grants on the chain give other keys'],
    ['gus', 'docs.bills.read', 'docs.folder:team', 'may not', 'does not count at the scope'],
    ['nobody', 'docs.files.edit', plan, 'may not', 'No live grant on the chain'],
  ]
  await h.grant({ subject: 'user:ivy', pattern: 'docs.files.read_tree', scope: plan })
  cases.push(['ivy', 'docs.files.read_tree', plan, 'may', 'The grant of docs.files.read_tree at docs.doc:plan gives it, and no revoke touches it.'])
  cases.push(['ivy', 'docs.files.read_tree', 'docs.folder:team', 'may', 'The key is implied'])
  await h.grant({ subject: 'user:cleo', roleId: 'editor', scope: 'docs.folder:archive' })
  cases.push(['cleo', 'docs.files.edit', plan, 'may not', 'granted at other scopes'])
  for (const [user, key, scope, word, reason] of cases) {
    await ask(page, user, key, scope)
    await verdict(page).waitFor()
    const text = await verdict(page).innerText()
    const at = scope === '*' ? ' everywhere.' : ` at ${scope}.`
    assert.ok(text.includes(`${user} ${word} ${key}${at}`), text)
    assert.ok(text.includes(reason), `${user}: ${text}`)
    // Never a verdict of our own: it is the host's.
    const told = await h.owner.api('GET', `/orgs/acme/org/explain?userId=${user}&key=${key}&scope=${encodeURIComponent(scope)}`)
    assert.equal(told.allowed, word === 'may')
    await accessible(page, user)
  }
})

test('the way through groups, as a list and as a text', async t => {
  const h = await host(t)
  await world(h)
  const { page } = await asOwner(t, h)
  await ask(page, 'ann', 'docs.files.edit', 'docs.doc:plan')
  const ways = page.locator('.nest > li')
  await ways.first().waitFor()
  assert.equal(await ways.count(), 1)
  const steps = await ways.first().locator('ol > li').allInnerTexts()
  assert.deepEqual(steps, ['ann', 'is in group staff', 'which is in group company', 'which has role Editor at docs.folder:team', 'with the pattern docs.files.*', 'which gives docs.files.edit'])
  assert.ok(await page.locator('.picture svg').isVisible())
  await page.getByRole('button', { name: 'Copy as text' }).click()
  const text = await page.evaluate(() => navigator.clipboard.readText())
  assert.match(text, /^ALLOWED {2}user:ann may docs\.files\.edit at docs\.doc:plan\n/)
  assert.match(text, /user:ann → group:staff → group:company → role "Editor" → docs\.files\.\* → docs\.files\.edit\n/)
  assert.match(text, /chain docs\.doc:plan → docs\.folder:team → \*\n/)
  await page.getByRole('button', { name: 'List them' }).click()
  const holders = page.locator('section', { hasText: 'Who may do this' }).last()
  await holders.getByText('ann').waitFor()
})

test('what would allow it leads to the grant, filled in', async t => {
  const h = await host(t)
  await world(h)
  const { page } = await asOwner(t, h)
  await ask(page, 'nobody', 'docs.files.edit', 'docs.doc:plan')
  const allow = page.locator('section', { hasText: 'What would allow it' }).last()
  await allow.getByText('company').first().waitFor()
  await allow.getByRole('link', { name: 'Give…' }).first().click()
  await page.waitForURL('**/grants/new?**')
  assert.equal(await page.getByRole('combobox', { name: 'To whom' }).inputValue(), 'user:nobody')
  assert.equal(await page.getByRole('combobox', { name: 'Role' }).inputValue(), 'editor')
  assert.equal(await page.getByRole('combobox', { name: 'Scope' }).inputValue(), 'docs.doc:plan')
})

test('19 an unknown key is an error with what was meant', async t => {
  const h = await host(t)
  await world(h)
  const { page } = await asOwner(t, h, { quiet: [/status of 500/] }) // which the API answers here
  await ask(page, 'ann', 'docs.files.raed', '*')
  await page.getByRole('alert').getByText('UnknownPermissionError').waitFor()
  assert.match(await page.getByRole('alert').innerText(), /docs\.files\.read/)
  assert.equal(await verdict(page).count(), 0)
})

test('35 a question by keyboard alone', async t => {
  const h = await host(t)
  await world(h)
  const { page } = await asOwner(t, h)
  await page.getByText('Nothing needs you.').waitFor()
  await page.keyboard.press('Control+k')
  await page.getByRole('combobox', { name: 'Go to…' }).waitFor()
  await page.keyboard.type('explain')
  await page.keyboard.press('Enter')
  await page.waitForURL('**/explain')
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  await page.getByRole('combobox', { name: 'Who' }).waitFor()
  for (let i = 0; i < 12; i++) {
    await page.keyboard.press('Tab')
    if (await page.evaluate(() => document.activeElement.getAttribute('role') === 'combobox')) break
  }
  await page.keyboard.type('ann')
  await page.keyboard.press('Tab')
  await page.keyboard.type('docs.files.edit')
  await page.keyboard.press('Tab')
  await page.keyboard.type('docs.doc:plan')
  await page.keyboard.press('Tab')
  await page.keyboard.press('Enter')
  await verdict(page).waitFor()
  assert.match(await verdict(page).innerText(), /ann may docs\.files\.edit/)
})

test('what stands in the way of a denial has its cure beside it', async t => {
  const h = await host(t)
  await world(h)
  await new Promise(r => setTimeout(r, 500)) // finn's grant expires
  const { page } = await asOwner(t, h)
  const way = page.getByRole('region', { name: 'What stands in the way' })
  await ask(page, 'dan', 'docs.files.read', 'docs.doc:plan')
  await way.getByRole('link', { name: 'Open the revoke…' }).click()
  await page.getByRole('complementary').getByRole('button', { name: 'Take the revoke away…' }).waitFor()
  await ask(page, 'eve', 'docs.files.edit', 'docs.doc:plan')
  await way.getByRole('link', { name: 'To the person…' }).click()
  await page.getByRole('button', { name: 'Activate…' }).waitFor()
  await ask(page, 'finn', 'docs.files.edit', 'docs.doc:plan')
  await accessible(page, 'what ended')
  await way.getByRole('link', { name: 'Give…' }).click()
  assert.equal(await page.getByRole('combobox', { name: 'Role' }).inputValue(), 'editor')
  assert.equal(await page.getByRole('combobox', { name: 'Scope' }).inputValue(), 'docs.folder:team')
  await ask(page, 'ann', 'docs.files.edit', 'docs.doc:plan')
  await verdict(page).waitFor()
  assert.equal(await way.count(), 0)
})

test('who may is asked without a person, and a person whom nothing names is told', async t => {
  const h = await host(t)
  await world(h)
  const { page } = await asOwner(t, h)
  await fill(page.getByRole('combobox', { name: 'May use the key' }), 'docs.files.read')
  await fill(page.getByRole('combobox', { name: 'At the scope' }), 'docs.folder:team')
  await page.getByRole('button', { name: 'Explain' }).click()
  const holders = page.locator('section', { hasText: 'Who may do this' }).last()
  for (const who of ['ann', 'ben', 'gus']) await holders.getByText(who, { exact: true }).waitFor()
  await accessible(page, 'who may')
  await ask(page, 'nobodyhere', 'docs.files.edit', 'docs.doc:plan')
  await page.getByText('No record of nobodyhere').waitFor()
  await ask(page, 'ben', 'docs.files.edit', 'docs.doc:plan')
  await verdict(page).waitFor()
  await page.getByText('What came near').waitFor()
  assert.equal(await page.getByText('No record of').count(), 0)
  await ask(page, 'ben', 'docs.files.edit', 'plan')
  await page.getByText('is not a scope: write type:id').waitFor()
})
