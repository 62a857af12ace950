// Makes the pictures of docs/dashboard.md with the sample company, from this build: make screenshots.
// A picture is a line: its address, what is done there first, and in which shapes it is taken.
import { spawnSync } from 'node:child_process'
import { mkdirSync, readdirSync, rmSync, statSync } from 'node:fs'
import { test } from 'node:test'
import { asOwner } from './browser.mjs'
import { sample } from './hosts.mjs'

const wide = ['light', 'dark']
const narrow = ['narrow-light', 'narrow-dark']
const review = page => page.getByRole('button', { name: 'Review' }).click().then(() => page.getByRole('dialog', { name: 'This will be done' }).waitFor())

const pictures = {
  explain: { at: '/explain?user=u_17&key=docs.files.update_file&scope=docs.doc:d_1', as: [...wide, ...narrow] },
  person: { at: '/people/u_17', as: wide },
  'give-access': { at: '/grants/new?subject=user:u_300&role=r_editor&scope=docs.doc:d_1', first: review, as: wide },
}

const shapes = {
  light: { width: 1280, height: 760 }, dark: { width: 1280, height: 760, scheme: 'dark' },
  'narrow-light': { width: 320, height: 680 }, 'narrow-dark': { width: 320, height: 680, scheme: 'dark' },
}
const most = 60_000 // bytes of one
const folder = new URL('../../docs/images/dashboard/', import.meta.url).pathname

/** Writes the same picture without a loss, as small as it can be. */
function webp(png, to) {
  const made = spawnSync('cwebp', ['-quiet', '-lossless', '-z', '9', '-o', to, '--', '-'], { input: png, encoding: 'utf8' })
  if (made.status !== 0) throw new Error(`cwebp: ${made.error ?? made.stderr}`)
}

test('pictures', { timeout: 300_000 }, async t => {
  const h = await sample(t)
  mkdirSync(folder, { recursive: true })
  for (const old of readdirSync(folder)) rmSync(folder + old)
  for (const [shape, how] of Object.entries(shapes)) {
    const { page } = await asOwner(t, h, { ...how, axed: false })
    for (const [name, { at, first, as }] of Object.entries(pictures)) {
      if (!as.includes(shape)) continue
      await page.goto('/dashboard/orgs/acme' + at)
      await page.locator('main h1').waitFor()
      await first?.(page)
      await page.waitForFunction(() => !document.querySelector('.skeleton, [aria-busy=true]'))
      await page.waitForLoadState('networkidle', { timeout: 1500 }).catch(() => {}) // the stream of changes stays open
      const file = `${folder}${name}-${shape}.webp`
      webp(await page.screenshot({ animations: 'disabled', caret: 'hide' }), file)
      const { size } = statSync(file)
      t.diagnostic(`${name}-${shape}: ${Math.round(size / 1000)} KB`)
      if (size > most) throw new Error(`${name}-${shape} has ${size} bytes, of at most ${most}`)
    }
  }
})
