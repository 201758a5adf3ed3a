import { createApp, defineComponent, h, onMounted, ref } from "vue";
import { isAutomatic, link, logging } from "./app";
import { useBonafide } from "./use-bonafide-vue";

const Verify = defineComponent({
  props: { count: { type: Number, required: true } },
  setup(props) {
    const open = useBonafide(logging(() => props.count));
    onMounted(() => {
      if (isAutomatic()) void open(link());
    });
    return () => h("button", { id: "verify", onClick: () => open(link()) }, "Verify");
  },
});

const App = defineComponent({
  setup() {
    const isShown = ref(true);
    const count = ref(0);
    window.show = (value) => (isShown.value = value);
    window.rerender = (value) => (count.value = value);
    return () => (isShown.value ? h(Verify, { count: count.value }) : null);
  },
});

createApp(App).mount("#app");
