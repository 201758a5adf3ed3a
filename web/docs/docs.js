// Starts Swagger UI without its top bar. The bar's logo adds a style element and its URL field loads other
// documents, both of which the page's CSP refuses. The system's colour scheme replaces the bar's switch.
const dark = matchMedia("(prefers-color-scheme: dark)");
const applyColours = () => document.documentElement.classList.toggle("dark-mode", dark.matches);
applyColours();
dark.addEventListener("change", applyColours);

// @ts-expect-error swagger-ui-bundle.js defines this global.
const swagger = SwaggerUIBundle;
swagger({
  url: "/openapi.json",
  dom_id: "#swagger-ui",
  deepLinking: true,
  layout: "BaseLayout",
  presets: [swagger.presets.apis],
  validatorUrl: "none",
});
