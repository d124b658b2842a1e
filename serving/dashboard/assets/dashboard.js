"use strict";
// Dash's dropdowns hide an input from screen readers but not from the Tab key.
new MutationObserver(() => {
  for (const input of document.querySelectorAll(".dash-dropdown-wrapper > input")) input.tabIndex = -1;
}).observe(document.documentElement, {childList: true, subtree: true});
window.dash_clientside = window.dash_clientside || {};
window.dash_clientside.plumbline = {
  // What the filters say goes into the address, and from there to the page: an address can be shared.
  filtered: (values, ids) => {
    const query = new URLSearchParams(window.location.search);
    ids.forEach((id, nth) => {
      const value = values[nth];
      if (value === null || value === undefined || (id.name === "span" && value === "1h")) query.delete(id.name);
      else query.set(id.name, value);
    });
    const asked = query.toString() ? `?${query}` : "";
    return asked === window.location.search ? window.dash_clientside.no_update : asked;
  },
  // A match of the search box is an address.
  opened: (address) => {
    const stay = window.dash_clientside.no_update;
    if (!address) return [stay, stay, stay];
    const [path, query] = address.split("?");
    return [path, query ? `?${query}` : "", null];
  },
  // A cell names its pair: "broker 3", or "3" among many, fetches (down) from "broker 1" (across).
  looked_into: (clicked) => {
    const stay = [window.dash_clientside.no_update, window.dash_clientside.no_update];
    if (!clicked || clicked.points[0].z === null || clicked.points[0].z === undefined) return stay;
    const number = (name) => String(name).replace(/\D+/g, "");
    const query = new URLSearchParams(window.location.search);
    query.set("follower", number(clicked.points[0].y));
    query.set("leader", number(clicked.points[0].x));
    return ["/pair", `?${query}`];
  },
};
