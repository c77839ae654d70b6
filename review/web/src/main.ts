// Signs in, and shows the page that the address names.
import './style.css';
import { type Me, Refusal, get, post, setCsrf } from './api';
import { h, say, sentence } from './dom';
import { listen, showHelp } from './keys';
import { showOverview } from './overview';
import { showQueue } from './queue';
import { isRater, onlyRates, showRate } from './rate';
import { showRequest } from './request';

const app = document.getElementById('app') as HTMLElement;
const main = h('main', { id: 'main', tabindex: '-1' });
let me: Me | null = null;
let leave: () => void = () => {};

function message(title: string, text: string, ...more: Node[]): void {
  main.replaceChildren(h('div', { class: 'message' }, h('h1', {}, title), h('p', {}, text), ...more));
  say(`${title}. ${text}`);
}

const rates = (): boolean => location.hash.startsWith('#/rate') || (me !== null && onlyRates(me) && location.hash !== '#/overview');
const help = (): void => showHelp(rates() ? 'rating' : 'review');

function frame(): void {
  const here = (href: string): boolean => (href === '#/rate' ? rates() : location.hash === href || (href === '#/' && !location.hash));
  const link = (href: string, text: string): HTMLElement => h('a', { href, 'aria-current': here(href) ? 'page' : undefined }, text);
  const bar = h('header', {}, h('a', { class: 'skip', href: '#main', onclick: (e: MouseEvent) => { e.preventDefault(); main.focus(); } }, 'To the content'), h('span', { class: 'brand' }, 'Redline', h('span', {}, ' review')));
  if (me) {
    bar.append(h('span', { class: 'muted corpus' }, me.corpus), h('nav', { 'aria-label': 'Pages' }, onlyRates(me) ? '' : link('#/', 'Queue'), isRater(me) ? link('#/rate', 'Rate') : '', me.roles.includes('coordinator') ? link('#/overview', 'Overview') : ''), h('span', { class: 'grow' }),
      h('button', { type: 'button', class: 'tool', 'aria-label': 'Shortcuts', title: 'Shortcuts (?)', onclick: help }, '?'), h('span', { class: 'who' }, me.participant),
      h('button', { type: 'button', class: 'tool', onclick: () => void post('/api/logout').finally(() => { me = null; location.hash = '#/'; location.reload(); }) }, 'Sign out'));
  }
  app.replaceChildren(bar, main);
}

async function show(): Promise<void> {
  leave();
  leave = () => {};
  const join = /^#join=([0-9a-f]+)$/.exec(location.hash);
  try {
    if (join) {
      // Out of the address bar and the history before anything else.
      history.replaceState(null, '', '#/');
      await post('/api/join', { token: join[1] });
      me = null;
    }
    if (!me) { me = await get<Me>('/api/me'); setCsrf(me.csrf); }
    frame();
    main.replaceChildren(h('p', { class: 'loading' }, 'Loading…'));
    const rating = /^#\/rate(?:\/([0-9a-f]+))?$/.exec(location.hash);
    const request = /^#\/r\/(.+)$/.exec(location.hash);
    document.title = request ? `${decodeURIComponent(request[1]).slice(-8)} – Redline review` : 'Redline review';
    if (request) leave = await showRequest(main, me, decodeURIComponent(request[1]), () => void show());
    else if (rates()) leave = await showRate(main, rating?.[1] ?? null);
    else if (location.hash === '#/overview') await showOverview(main, me);
    else await showQueue(main, me);
  } catch (e) {
    if (!(e instanceof Refusal)) throw e;
    frame();
    const home = h('a', { class: 'button', href: '#/' }, 'To the queue');
    const retry = h('button', { type: 'button', class: 'primary', onclick: () => void show() }, 'Try again');
    if (e.status === 401) message(join ? 'This link does not work' : 'You are not signed in', sentence(e.message));
    else if (e.status === 0) message('The server is away', 'Start it again with redline review serve. What you typed is kept in this browser.', retry);
    else if (e.status === 404) message('Not found', 'There is nothing under this address.', home);
    else if (e.status === 403) message('Not for you', sentence(e.message), home);
    else message('That did not work', sentence(e.message), retry);
  }
}

listen({ help, queue: () => { location.hash = '#/'; } });
window.addEventListener('hashchange', () => void show());
void show();
