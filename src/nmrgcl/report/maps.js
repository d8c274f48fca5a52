// The mark under the pointer: its name below the maps, and a ring around the same graph in all of them.
(() => {
  const said = document.getElementById("pointed-at");
  document.querySelectorAll("use[data-row]").forEach((mark) => {
    mark.addEventListener("pointerenter", () => {
      if (mark.classList.contains("pointed")) return;
      document.querySelectorAll("use.pointed").forEach((other) => other.classList.remove("pointed"));
      document.querySelectorAll(`use[data-row="${mark.dataset.row}"]`).forEach((same) => {
        same.classList.add("pointed");
        same.parentNode.append(same); // in front of the others
      });
      said.textContent = mark.textContent;
    });
  });
})();
