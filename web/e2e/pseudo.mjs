// The dashboard in a language that nobody speaks: each text is 40 % longer and has accents.
// Built of these sources, and given to the browser in the place of the host's own files.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { extname, join } from 'node:path'
import { build } from 'vite'

const root = new URL('..', import.meta.url).pathname

// Runs in the page, at the end of each module of texts: a text is a string, or a function that makes one.
function deepen(of) {
  const accents = { a: 'ä', b: 'ƀ', c: 'ç', d: 'ð', e: 'ë', g: 'ğ', h: 'ĥ', i: 'ï', k: 'ķ', l: 'ļ', n: 'ñ', o: 'ö', r: 'ŕ', s: 'š', t: 'ţ', u: 'ü', w: 'ŵ', y: 'ÿ', z: 'ž', A: 'Å', D: 'Ð', E: 'É', G: 'Ğ', I: 'Ï', L: 'Ļ', N: 'Ñ', O: 'Ø', R: 'Ŕ', S: 'Š', T: 'Ţ', U: 'Û', Y: 'Ý' }
  const text = s => {
    const words = s.replace(/[A-Za-z]/g, c => accents[c] ?? c)
    const more = Math.ceil(s.length * 0.4)
    return s.trim() === '' ? s : `${words}${s.length < 12 ? 'ö'.repeat(more) : ' ' + 'öñë '.repeat(more).slice(0, more - 1).trimEnd()}`
  }
  const one = v => (typeof v === 'string' ? text(v) : typeof v === 'function' ? (...given) => text(v(...given)) : v && typeof v === 'object' ? each(v) : v)
  const each = o => {
    for (const k of Object.keys(o)) o[k] = one(o[k])
    return o
  }
  return each(of)
}

const speaks = {
  name: 'pseudo',
  enforce: 'pre',
  transform(code, id) {
    if (!/\/src\/text\/\w+\.ts$/.test(id)) return null
    const names = [...code.matchAll(/^export const (\w+) = \{/gm)].map(m => m[1])
    return { code: `${code}\n${deepen}\n${names.map(n => `deepen(${n})`).join('\n')}\n`, map: null }
  },
}

const kinds = { '.js': 'text/javascript', '.css': 'text/css', '.svg': 'image/svg+xml' }

/** Builds it; answers how a browser is given it. */
export async function pseudo(t) {
  const outDir = mkdtempSync(join(tmpdir(), 'az-pseudo-'))
  t.after(() => rmSync(outDir, { recursive: true, force: true }))
  await build({ root, configFile: join(root, 'vite.config.ts'), logLevel: 'error', plugins: [speaks], build: { outDir, emptyOutDir: true, minify: false } })
  return context =>
    context.route('**/dashboard/**', async route => {
      const { pathname } = new URL(route.request().url())
      const kind = kinds[extname(pathname)]
      if (kind && pathname.startsWith('/dashboard/assets/')) return route.fulfill({ path: join(outDir, pathname.slice('/dashboard/'.length)), contentType: kind })
      if (route.request().resourceType() !== 'document') return route.continue()
      const own = await route.fetch() // with the policy that binds it
      return route.fulfill({ response: own, body: readFileSync(join(outDir, 'index.html'), 'utf8') })
    })
}

/** Texts of the dashboard that do not fit: cut by what is around them, or beyond the window. Data of the host may be cut. */
export function cut(page) {
  return page.evaluate(() => {
    const speaks = /[äƀçðëğĥïķļñöŕšţüŵÿž]/
    const found = []
    const say = (what, el, text) => found.push(`${what}: “${text.trim().slice(0, 60)}” in ${el.tagName.toLowerCase()}.${[...el.classList].join('.')}`)
    const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
    for (let node = walk.nextNode(); node; node = walk.nextNode()) {
      const el = node.parentElement
      if (!speaks.test(node.data) || !el.checkVisibility({ visibilityProperty: true, opacityProperty: true }) || el.closest('.hidden, .hidden-until-focus, svg, option')) continue
      const range = document.createRange()
      range.selectNodeContents(node)
      const boxes = [...range.getClientRects()].filter(b => b.width > 0)
      if (boxes.length === 0) continue
      const left = Math.min(...boxes.map(b => b.left))
      const right = Math.max(...boxes.map(b => b.right))
      for (let around = el; around && around !== document.documentElement; around = around.parentElement) {
        const style = getComputedStyle(around)
        const box = around.getBoundingClientRect()
        if (style.overflowX === 'auto' || style.overflowX === 'scroll') break // reached by scrolling
        if (style.clipPath !== 'none') break // for readers of screens alone
        const clips = style.overflowX !== 'visible' || around.matches('.button, .tag, .chip, .card, .note')
        if (clips && (left < box.left - 1 || right > box.right + 1)) {
          say('cut', around, node.data)
          break
        }
        if (around === document.body && (left < -1 || right > innerWidth + 1)) say('beyond the window', el, node.data)
      }
    }
    const canvas = document.createElement('canvas').getContext('2d')
    for (const el of document.querySelectorAll('input[placeholder]')) {
      if (!el.checkVisibility() || el.value || !speaks.test(el.placeholder)) continue
      const style = getComputedStyle(el)
      canvas.font = getComputedStyle(el, '::placeholder').font
      if (canvas.measureText(el.placeholder).width > el.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight) + 1) say('placeholder', el, el.placeholder)
    }
    for (const el of document.querySelectorAll('select')) {
      if (!el.checkVisibility() || !el.selectedOptions[0]) continue
      const style = getComputedStyle(el)
      canvas.font = style.font
      if (speaks.test(el.selectedOptions[0].label) && canvas.measureText(el.selectedOptions[0].label).width > el.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight) + 1) say('select', el, el.selectedOptions[0].label)
    }
    return [...new Set(found)]
  })
}
